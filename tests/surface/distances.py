"""Distances of scipy.spatial."""

from corpus.registry import positive, real, values

from .registry import call

u, v, w = real(4), real(4), positive(4)
a, b = real(3, 4), real(2, 4)
# fmt: off
CALLS = [
    *(call(f"scipy.spatial.distance.{name}(u, v)", u=u, v=v, compiled=name == "correlation")
      for name in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "braycurtis",
                   "canberra")),
    *(call(f"scipy.spatial.distance.{name}(u, v, w)", u=u, v=v, w=w)
      for name in ("euclidean", "sqeuclidean", "cityblock", "cosine", "correlation", "braycurtis", "canberra")),
    call("scipy.spatial.distance.chebyshev(u, v, [0, 1, 1, 0])", u=u, v=v),
    call("scipy.spatial.distance.minkowski(u, v, 3) + scipy.spatial.distance.minkowski(u, v, p=1.5, w=w)",
         u=u, v=v, w=w),
    call("scipy.spatial.distance.minkowski(u, v, 1, w) + scipy.spatial.distance.minkowski(u, v, np.inf)",
         u=u, v=v, w=w),
    call("scipy.spatial.distance.euclidean([u[0], 1.0], (2.0, u[1]))", u=u),
    call("scipy.spatial.distance.canberra(u, v)", u=values(0.0, 1.0, -2.0), v=values(0.0, 0.5, 3.0)),
    call("scipy.spatial.distance.mahalanobis(u, v, a @ a.T + np.eye(4))", u=u, v=v, a=real(4, 4)),
    call("scipy.spatial.distance.seuclidean(u, v, w)", u=u, v=v, w=w),
    call("scipy.spatial.distance.jensenshannon(u, v)", u=positive(4), v=positive(4)),
    call("scipy.spatial.distance.jensenshannon(u, v, 2.0, axis=1, keepdims=True)", u=positive(3, 4), v=positive(3, 4)),
    call("scipy.spatial.distance.cdist(a, b)", a=a, b=b, compiled=True),
    *(call(f"scipy.spatial.distance.cdist(a, b, {name!r})", a=a, b=b)
      for name in ("sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "braycurtis", "canberra",
                   "seuclidean")),
    call("scipy.spatial.distance.cdist(a, b, 'jensenshannon')", a=positive(3, 4), b=positive(2, 4)),
    call("scipy.spatial.distance.cdist(a, b, 'minkowski', p=3)", a=a, b=b),
    call("scipy.spatial.distance.cdist(a, b, 'euclidean', w=w) + scipy.spatial.distance.cdist(a, b, 'seuclidean', V=w)",
         a=a, b=b, w=w),
    call("scipy.spatial.distance.cdist(a, b, 'mahalanobis', VI=np.eye(4) + 0.1 * a.T @ a)", a=a, b=b),
    call("scipy.spatial.distance.cdist(a, b, 'mahalanobis')", a=real(6, 2), b=real(5, 2), loose=10),
    call("scipy.spatial.distance.cdist(a, b, lambda p, q: np.sum(np.abs(p - q) ** 1.5))", a=a, b=b),
    call("scipy.spatial.distance.cdist(a, b, 'CityBlock') + scipy.spatial.distance_matrix(a, b, 3)", a=a, b=b),
    call("scipy.spatial.distance_matrix(a, b) + scipy.spatial.minkowski_distance(a[:, None], b, np.inf)", a=a, b=b),
    call("scipy.spatial.distance.pdist(a)", a=real(5, 3), compiled=True),
    call("scipy.spatial.distance.pdist(a, 'cosine') + scipy.spatial.distance.pdist(a, metric='cityblock')",
         a=real(4, 3)),
    call("scipy.spatial.distance.pdist(a, 'seuclidean')", a=real(4, 3)),
    call("scipy.spatial.distance.squareform(scipy.spatial.distance.pdist(a, 'sqeuclidean'))", a=real(4, 3)),
    call("scipy.spatial.distance.squareform((a + a.T) * (1 - np.eye(4)))", a=real(4, 4)),
]
# fmt: on
