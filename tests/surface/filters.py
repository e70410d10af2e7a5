"""Filters of scipy.ndimage and scipy.signal."""

from corpus.registry import complexes, positive, real

from .registry import call

x, xx, w = real(7), real(5, 6), real(3)
# fmt: off
CALLS = [
    *(call(f"scipy.ndimage.correlate1d(x, w, mode={mode!r})", x=x, w=w, compiled=mode == "mirror")
      for mode in ("reflect", "mirror", "nearest", "wrap", "constant")),
    call("scipy.ndimage.correlate1d(x, w, 0, mode='constant', cval=0.5)", x=xx, w=real(4)),
    call("scipy.ndimage.correlate1d(x, w, origin=1)", x=x, w=real(4)),
    call("scipy.ndimage.convolve1d(x, w)", x=x, w=w),
    call("scipy.ndimage.convolve1d(x, w, axis=0, origin=-1)", x=xx, w=real(4)),
    call("scipy.ndimage.gaussian_filter1d(x, 1.2)", x=x),
    call("scipy.ndimage.gaussian_filter1d(x, s)", x=x, s=0.7),
    call("scipy.ndimage.gaussian_filter1d(x, 0.8, 0, 1) + scipy.ndimage.gaussian_filter1d(x, 0.8, order=2, radius=3)",
         x=xx),
    call("scipy.ndimage.gaussian_filter(x, 0.6, mode='nearest')", x=xx),
    call("scipy.ndimage.gaussian_filter(x, (0.6, 0.9), (0, 1), truncate=3.0)", x=xx),
    call("scipy.ndimage.uniform_filter1d(x, 4)", x=x),
    call("scipy.ndimage.uniform_filter(x, (2, 3), mode='wrap')", x=xx),
    call("scipy.ndimage.laplace(x) + scipy.ndimage.sobel(x) * scipy.ndimage.prewitt(x, 0)", x=xx),
    call("scipy.ndimage.correlate(x, w)", x=xx, w=real(3, 2)),
    call("scipy.ndimage.convolve(x, w, mode='constant', cval=1.0)", x=xx, w=real(2, 3)),
    call("scipy.ndimage.convolve(x, w, origin=1)", x=x, w=real(3)),
    call("scipy.ndimage.convolve(x, w)", x=real(3, 2, 4), w=real(2, 1, 3)),
    *(call(f"scipy.signal.convolve(x, w, {mode!r})", x=x, w=w, compiled=mode == "full")
      for mode in ("full", "same", "valid")),
    call("scipy.signal.convolve(w, x, 'same') + scipy.signal.convolve(w, x, mode='same', method='direct')", x=x, w=w),
    *(call(f"scipy.signal.correlate(x, w, {mode!r})", x=x, w=real(4)) for mode in ("full", "same", "valid")),
    call("scipy.signal.correlate(z, w)", z=complexes(5), w=complexes(3)),
    *(call(f"scipy.signal.fftconvolve(x, w, {mode!r})", x=x, w=real(4)) for mode in ("full", "same", "valid")),
    call("scipy.signal.fftconvolve(z, w)", z=complexes(5), w=w),
    *(call(f"scipy.signal.convolve2d(x, w, {mode!r})", x=xx, w=real(2, 3)) for mode in ("full", "same", "valid")),
    *(call(f"scipy.signal.correlate2d(x, w, {mode!r})", x=xx, w=real(2, 3)) for mode in ("full", "same", "valid")),
    call("scipy.signal.convolve(x, w, 'valid')", x=xx, w=real(3, 3)),
    call("scipy.signal.lfilter(b, a, x)", b=real(3), a=positive(3), x=x, compiled=True),
    call("scipy.signal.lfilter(b, [1.0, -0.5], x, axis=0)", b=real(2), x=xx),
    call("scipy.signal.lfilter([0.5], a, x)", a=positive(4), x=real(2, 5)),
    call("scipy.signal.sosfilt(s / s[:, 3:4], x)", s=positive(2, 6), x=x),
    call("scipy.signal.detrend(x) + scipy.signal.detrend(x, 0, 'constant')", x=xx),
    call("scipy.signal.hilbert(x)", x=real(6)),
    call("scipy.signal.hilbert(x, axis=0)", x=real(5, 2)),
    call("np.abs(scipy.signal.hilbert(x, 8))", x=real(6)),
]
# fmt: on
