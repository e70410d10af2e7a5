"""Filters of scipy.ndimage and scipy.signal."""

from corpus.registry import complexes, integers, positive, real

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
    call("scipy.ndimage.correlate1d(z, w) + scipy.ndimage.convolve1d(z, w)", z=complexes(5), w=complexes(3)),
    call("scipy.ndimage.correlate(x, w) + scipy.ndimage.convolve(x, w)", x=xx, w=complexes(2, 2)),
    call("y = np.zeros(7)\nscipy.ndimage.gaussian_filter1d(x, 1.0, -1, 0, y, 'wrap')", x=x),
    call("scipy.ndimage.sobel(k, output=float) * scipy.ndimage.laplace(x, mode=['wrap', 'nearest'])",
         k=integers(1, 5, 2), x=real(2, 3)),
    call("scipy.ndimage.gaussian_filter(x, 0.8, radius=(1, 2), axes=(0, 1))"
         " + scipy.ndimage.uniform_filter(x, 2, axes=1)",
         x=xx),
    call("scipy.ndimage.gaussian_laplace(x, 0.9, truncate=2)"
         " + scipy.ndimage.gaussian_gradient_magnitude(x, (0.9, 0.6), mode='wrap', radius=1)",
         x=real(4, 3)),
    call("scipy.ndimage.maximum_filter(x, 3) + scipy.ndimage.minimum_filter(x, (2, 1), mode='nearest', origin=(-1, 0))",
         x=real(4, 3)),
    call("scipy.ndimage.median_filter(x, 3, mode='wrap') + scipy.ndimage.median_filter(x, (1, 4))", x=real(4, 5)),
    call("scipy.ndimage.maximum_filter1d(x, 4) + scipy.ndimage.minimum_filter1d(x, 3, mode='constant')", x=x,
         compiled=True),
    *(call(f"scipy.signal.convolve2d(x, w, {mode!r}, {beyond!r})"
           f" + scipy.signal.correlate2d(x, w, {mode!r}, 'fill', 0.5)",
           x=real(3, 4), w=real(2, 3)) for mode, beyond in (("full", "wrap"), ("same", "symm"))),
    call("scipy.signal.fftconvolve(x, w, 'same') + scipy.signal.convolve(x, w, 'same')", x=real(3, 4), w=real(2, 2)),
    call("scipy.signal.fftconvolve(z, w, 'valid', axes=1)", z=complexes(2, 4), w=real(1, 2)),
    call("scipy.signal.correlate(x, w)", x=real(2, 3, 2), w=real(1, 2, 2)),
    *(call("scipy.signal.lfilter(b, a, x, zi=z)", b=real(3), a=positive(2), x=real(n), z=real(2)) for n in (1, 5)),
    call("scipy.signal.lfilter_zi(b, a)", b=real(2), a=positive(4)),
    call("scipy.signal.filtfilt(b, [1.0, -0.5], x, padlen=3)", b=real(2), x=real(2, 5)),
    call("scipy.signal.filtfilt(b, 1.0, x, 0, padtype='even')", b=real(2), x=real(8, 1)),
    call("b, a = scipy.signal.butter(2, 0.3)\ny = scipy.signal.filtfilt(b, a, x, padtype=None)", x=x),
    call("s = scipy.signal.butter(3, 0.3, output='sos')\n"
         "y = scipy.signal.sosfiltfilt(s, x, padlen=4) + scipy.signal.sosfilt(s, [1, 0, 0, 0, 0, 0, 0])", x=x),
    call("scipy.signal.detrend(x, -1, 'linear', [2, 5]) + scipy.signal.detrend(x, bp=3)", x=x),
    call("scipy.signal.savgol_filter(x, 5, 2) + scipy.signal.savgol_filter(x, 5, 3, 1, d, mode='nearest')", x=x, d=0.4),
    call("scipy.signal.savgol_filter(x, 4, 1, deriv=1, axis=0)", x=xx),
    *(call(f"scipy.ndimage.map_coordinates(x, c, order={order}, mode={mode!r}) * c[0]", x=real(4, 3),
           c=real(2, 5, low=-1.5, high=5.5), loose=10)
      for order, mode in ((0, "reflect"), (1, "constant"), (1, "wrap"), (3, "mirror"))),
    call("scipy.ndimage.map_coordinates(x, [[a], [b]], mode='nearest')", x=real(3, 3), a=0.4, b=2.7, loose=10),
    call("scipy.signal.get_window('hann', 7) * x", x=x),
]
# fmt: on
