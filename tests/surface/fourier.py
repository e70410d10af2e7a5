"""Fourier transforms of NumPy and SciPy: lengths, axes and norms; shifts and frequencies."""

from __future__ import annotations

from corpus.registry import complexes, integers, real

from .registry import Call, call

z, x = complexes(6), real(6)
zz, xx = complexes(4, 5), real(4, 5)
zzz = complexes(2, 3, 4)

CALLS: list[Call] = [
    call("np.fft.fft(z)", z=z, compiled=True),
    call("np.fft.fft(x)", x=x),
    call("np.fft.ifft(z)", z=z),
    call("np.fft.ifft(x, norm='ortho')", x=x),
    call("np.fft.fft(z, norm='forward') + np.fft.ifft(z, norm='forward')", z=z),
    call("np.fft.fft(z, 4)", z=z),
    call("np.fft.fft(z, n=9)", z=z),
    call("np.fft.fft(x, 9, norm='ortho')", x=x),
    call("np.fft.fft(z, axis=0)", z=zz),
    call("np.fft.ifft(z, 3, 0)", z=zz),
    call("np.fft.fft(z, axis=1)", z=zzz),
    call("np.fft.fft(z.T)", z=zz),
    call("np.fft.fft(z[::2, 1:])", z=zz),
    call("np.fft.fft(np.arange(6) * x[0])", x=x),
    call("np.fft.fft(n) * x", n=integers(1, 2, 3, 4, 5, 6), x=x),
    call("np.fft.fft([x[0], x[1], x[2]])", x=x),
    call("np.fft.fft(z, out=np.empty_like(z))", z=z),
    call("np.fft.ifft(np.fft.fft(z) * np.fft.fft(x)).real", z=z, x=x),
    call("np.fft.rfft(x)", x=x),
    call("np.fft.rfft(x)", x=real(7), compiled=True),
    call("np.fft.rfft(x)", x=real(1)),
    call("np.fft.rfft(x, 5)", x=x),
    call("np.fft.rfft(x, 8, norm='ortho')", x=x),
    call("np.fft.rfft(x, axis=0)", x=xx),
    call("np.fft.rfft(x, axis=0, norm='forward')", x=xx),
    call("np.fft.rfft(x[:, ::2], axis=-1)", x=xx),
    call("np.fft.irfft(z)", z=z),
    call("np.fft.irfft(z, 9)", z=z, compiled=True),
    call("np.fft.irfft(z, 14)", z=z),
    call("np.fft.irfft(z, 7, norm='ortho')", z=z),
    call("np.fft.irfft(z, axis=0, norm='forward')", z=zz),
    call("np.fft.irfft(x, axis=0)", x=xx),
    call("np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(y), x.size)", x=real(7), y=real(7)),
    call("np.fft.hfft(z)", z=z),
    call("np.fft.hfft(z, 5, norm='ortho')", z=z),
    call("np.fft.ihfft(x)", x=x),
    call("np.fft.ihfft(x, 5, norm='forward')", x=x),
    call("np.fft.fft2(z)", z=zz),
    call("np.fft.fft2(z, s=(3, 6))", z=zz),
    call("np.fft.fft2(z, axes=(0, 1))", z=zzz),
    call("np.fft.ifft2(z, norm='ortho')", z=zzz),
    call("np.fft.rfft2(x)", x=xx, compiled=True),
    call("np.fft.rfft2(x, s=(5, 4), norm='forward')", x=xx),
    call("np.fft.irfft2(z)", z=zz),
    call("np.fft.irfft2(z, s=(3, 5))", z=zz),
    call("np.fft.fftn(z)", z=zzz, compiled=True),
    call("np.fft.fftn(z, axes=(0, 2))", z=zzz),
    call("np.fft.fftn(z, s=(2, -1), axes=(1, 0))", z=zzz),
    call("np.fft.ifftn(z)", z=zzz),
    call("np.fft.rfftn(x)", x=real(2, 3, 4)),
    call("np.fft.rfftn(x, axes=(2, 0))", x=real(2, 3, 4)),
    call("np.fft.irfftn(z)", z=zzz),
    call("np.fft.irfftn(z, s=(3, 7), axes=(0, 1), norm='ortho')", z=zzz),
    call("np.fft.fftshift(x)", x=x),
    call("np.fft.fftshift(x)", x=real(5)),
    call("np.fft.fftshift(z, axes=1)", z=zz),
    call("np.fft.ifftshift(z)", z=zz),
    call("np.fft.ifftshift(x, axes=(0, -1))", x=real(3, 2, 5)),
    call("np.fft.fftfreq(5, d) * np.fft.fftfreq(5)", d=0.3),
    call("np.fft.rfftfreq(6, d) * np.fft.rfftfreq(x.size)", x=x, d=0.3),
    call("np.fft.ifft(1j * np.fft.fftfreq(x.size, 0.1) * np.fft.fft(x)).real", x=x),
    call("scipy.fft.fft(z) + scipy.fft.ifft(z, norm='ortho')", z=z),
    call("scipy.fft.rfft(x, n=7, axis=0, workers=1)", x=xx),
    call("scipy.fft.irfft(z, 8, overwrite_x=True)", z=z),
    call("scipy.fft.hfft(z) * scipy.fft.ihfft(x).real.sum()", z=z, x=x),
    call("scipy.fft.fft2(z) + scipy.fft.ifft2(z)", z=zz),
    call("scipy.fft.rfft2(x)", x=xx),
    call("scipy.fft.irfft2(z, s=(4, 5))", z=zz),
    call("scipy.fft.fftn(z, axes=(1,)) + scipy.fft.ifftn(z, s=(3, 4))", z=zzz),
    call("scipy.fft.rfftn(x).real * scipy.fft.irfftn(z).sum()", x=real(2, 3, 4), z=zzz),
    call("scipy.fft.fftshift(x) * scipy.fft.ifftshift(x) * scipy.fft.fftfreq(6, 0.5)", x=x),
    *(
        call(f"scipy.fft.{name}(x, {type}, norm={norm!r})", x=x, compiled=type == 2 and norm == "ortho")
        for name in ("dct", "idct")
        for type in (1, 2, 3, 4)
        for norm in (None, "ortho", "forward")
    ),
    call("scipy.fft.dct(x, n=4) + scipy.fft.idct(x, n=4, axis=0)[:4, :4].sum()", x=real(4, 6)),
    call("scipy.fft.dct(x, n=9)", x=x),
    *(call(f"scipy.fft.dst(x, {t}) * scipy.fft.idst(x, type={t}, norm='ortho')", x=real(4)) for t in (1, 2, 3, 4)),
    call("scipy.fft.dst(z, n=3) + scipy.fft.idct(z, n=3)", z=complexes(2, 4)),
    call("scipy.fft.dctn(x, s=(2, 4)) + scipy.fft.idstn(x, 1, axes=-1, s=4)", x=real(2, 3)),
    call("scipy.fft.dct(x, axis=0)", x=xx),
    call("scipy.fft.dctn(x) + scipy.fft.idctn(x, norm='ortho', axes=(0,))", x=xx),
]
