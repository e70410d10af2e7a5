"""Functions of scipy.special that give several results, and those that Bessel functions and their kin say."""

from __future__ import annotations

import math

import numpy as np
import scipy.special

from srcgrad.rules.compositions.registry import means
from srcgrad.runtime import scipy_special as special

# --------------------------------------------------------------------------------------------------------------
# Several results at once.


@means(scipy.special.airy)
def airy(z):
    return special.airy_ai(z), special.airy_aip(z), special.airy_bi(z), special.airy_bip(z)


@means(scipy.special.fresnel)
def fresnel(z):
    return special.fresnel_s(z), special.fresnel_c(z)


@means(scipy.special.sici)
def sici(x):
    return special.si(x), special.ci(x)


@means(scipy.special.shichi)
def shichi(x):
    return special.shi(x), special.chi(x)


@means(scipy.special.ellipj)
def ellipj(u, m):
    return special.ellipj_sn(u, m), special.ellipj_cn(u, m), special.ellipj_dn(u, m), special.ellipj_ph(u, m)


# --------------------------------------------------------------------------------------------------------------
# Hankel functions of real numbers, and derivatives with respect to the argument (DLMF 10.6.7, 10.29.5).


@means(scipy.special.hankel1)
def hankel1(v, z):
    return scipy.special.jv(v, z) + 1j * scipy.special.yv(v, z)


@means(scipy.special.hankel2)
def hankel2(v, z):
    return scipy.special.jv(v, z) - 1j * scipy.special.yv(v, z)


@means(scipy.special.jvp)
def jvp(v, z, n=1):
    return differentiated(scipy.special.jv, v, z, n, -1.0)


@means(scipy.special.yvp)
def yvp(v, z, n=1):
    return differentiated(scipy.special.yv, v, z, n, -1.0)


@means(scipy.special.ivp)
def ivp(v, z, n=1):
    return differentiated(scipy.special.iv, v, z, n, 1.0)


@means(scipy.special.kvp)
def kvp(v, z, n=1):
    return (-1.0) ** n * differentiated(scipy.special.kv, v, z, n, 1.0)


@means(scipy.special.h1vp)
def h1vp(v, z, n=1):
    return jvp(v, z, n) + 1j * yvp(v, z, n)


@means(scipy.special.h2vp)
def h2vp(v, z, n=1):
    return jvp(v, z, n) - 1j * yvp(v, z, n)


def differentiated(function, v, z, n, phase):
    """As SciPy has it, of an order that is an array"""
    if n != int(n) or n < 0:
        raise ValueError(f"n must be a non-negative integer, not {n}")
    if n == 0:
        return function(v, z)
    v = np.asarray(v)
    total, share = function(v - n, z), 1.0
    for i in range(1, n + 1):
        share = phase * share * (n - i + 1) / i
        total = total + share * function(v - n + 2 * i, z)
    return total / 2.0**n


# --------------------------------------------------------------------------------------------------------------
# Spherical Bessel functions of real numbers, computed in double precision.

# Of single precision SciPy's releases make the one or the other.
OF_SINGLE = {
    f.__name__: f(1, np.ones(1, np.float32)).dtype
    for f in (
        scipy.special.spherical_jn,
        scipy.special.spherical_yn,
        scipy.special.spherical_in,
        scipy.special.spherical_kn,
    )
}


@means(scipy.special.spherical_jn)
def spherical_jn(n, z, derivative=False):
    return spherical("spherical_jn", n, z, derivative, -1.0, 1.0)


@means(scipy.special.spherical_yn)
def spherical_yn(n, z, derivative=False):
    return spherical("spherical_yn", n, z, derivative, -1.0, 1.0)


@means(scipy.special.spherical_in)
def spherical_in(n, z, derivative=False):
    return spherical("spherical_in", n, z, derivative, 1.0, 1.0)


@means(scipy.special.spherical_kn)
def spherical_kn(n, z, derivative=False):
    return spherical("spherical_kn", n, z, derivative, -1.0, -1.0)


def spherical(name, n, z, derivative, ahead, behind):
    dtype = OF_SINGLE[name] if np.asarray(z).dtype == np.float32 else np.float64
    n, z = whole_and_real(n, z)
    function = getattr(special, name)
    out = function(n, z)
    if derivative:
        after = ahead * (n + 1) * function(n + 1, z)
        both = (behind * n * function(np.maximum(n - 1, 0), z) + after) / (2 * n + 1)
        out = np.where(n == 0, after, both)[()]
    return out.astype(dtype)


def whole_and_real(n, z):
    if np.iscomplexobj(z):
        raise NotImplementedError("spherical functions of complex numbers are not supported")
    return np.asarray(n).astype(np.int64)[()], np.asarray(z).astype(np.float64)[()]


def spherical_harmonic(n, m, theta, phi):
    n, theta = whole_and_real(n, theta)
    m, phi = whole_and_real(m, phi)
    return special.spherical_legendre(n, m, theta) * np.exp(1j * (m * phi))


if hasattr(scipy.special, "sph_harm_y"):

    @means(scipy.special.sph_harm_y)
    def sph_harm_y(n, m, theta, phi, *, diff_n=0):
        if diff_n != 0:
            raise NotImplementedError("sph_harm_y with diff_n is not supported; backward gives the derivatives")
        return spherical_harmonic(n, m, theta, phi)


if hasattr(scipy.special, "sph_harm"):  # up to SciPy 1.16

    @means(scipy.special.sph_harm)
    def sph_harm(m, n, theta, phi):
        return spherical_harmonic(n, m, phi, theta)


# --------------------------------------------------------------------------------------------------------------
# Line shapes and kernels.


@means(scipy.special.voigt_profile)
def voigt_profile(x, sigma, gamma):
    """The real part of Faddeeva's function; Cauchy's where sigma is 0"""
    width = np.where(sigma == 0, 1.0, sigma)
    z = (x + 1j * gamma) / (math.sqrt(2.0) * width)
    gaussian = np.real(scipy.special.wofz(z)) / (math.sqrt(2.0 * math.pi) * width)
    peak = np.where(x == 0, np.inf, np.zeros_like(x))
    at_center = np.where(gamma == 0, peak, gamma / (math.pi * (x * x + gamma * gamma)))
    return np.where(sigma == 0, at_center, gaussian)[()]


@means(scipy.special.diric)
def diric(x, n):
    """sin(n x / 2) / (n sin(x / 2)); as SciPy has it, 1 or -1 where both are 0"""
    x, n = np.asarray(x), np.asarray(n)
    n = n + (x - x)
    x = x + (n - n)
    half = x / 2
    below = np.sin(half)
    at_multiple = np.abs(below) < (1e-7 if half.dtype == np.float64 else 1e-3)
    sign = np.where(np.round(half / np.pi) * (n - 1) % 2 == 0, np.ones_like(half), -np.ones_like(half))
    quotient = np.sin(n * half) / (n * np.where(at_multiple, np.ones_like(half), below))
    out = np.where(at_multiple, sign, quotient)
    return np.where((n <= 0) | (n != np.floor(n)), np.full_like(out, np.nan), out)[()]
