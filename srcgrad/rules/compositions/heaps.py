"""heapq: by the algorithms of Python's own, so that the items lie in the same order."""

from __future__ import annotations

import heapq

from srcgrad.rules.compositions.registry import python_means


@python_means(heapq.heappush)
def push(heap, item):
    heap.append(item)
    sift_down(heap, 0, len(heap) - 1)


@python_means(heapq.heappop)
def pop_least(heap):
    last = heap.pop()
    if len(heap) == 0:
        return last
    least = heap[0]
    heap[0] = last
    sift_up(heap, 0)
    return least


@python_means(heapq.heapify)
def make_heap(x):
    for i in range(len(x) // 2 - 1, -1, -1):
        sift_up(x, i)


@python_means(heapq.heappushpop)
def push_and_pop_least(heap, item):
    if len(heap) > 0 and heap[0] < item:
        return replace_least(heap, item)
    return item


@python_means(heapq.heapreplace)
def replace_least(heap, item):
    least = heap[0]
    heap[0] = item
    sift_up(heap, 0)
    return least


@python_means(heapq.nlargest)
def the_largest(n, iterable, key=None):
    return sorted(iterable, key=key, reverse=True)[: max(n, 0)]


@python_means(heapq.nsmallest)
def the_smallest(n, iterable, key=None):
    return sorted(iterable, key=key)[: max(n, 0)]


def sift_down(heap, start, position):
    new = heap[position]
    while position > start:
        above = (position - 1) >> 1
        if not new < heap[above]:
            break
        heap[position] = heap[above]
        position = above
    heap[position] = new


def sift_up(heap, position):
    start, new = position, heap[position]
    below = 2 * position + 1
    while below < len(heap):
        if below + 1 < len(heap) and not heap[below] < heap[below + 1]:
            below += 1
        heap[position] = heap[below]
        position = below
        below = 2 * position + 1
    heap[position] = new
    sift_down(heap, start, position)
