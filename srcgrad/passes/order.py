"""Which passes a program goes through, and in which order, by the kind of function that is generated and the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..ir.nodes import Function
from ..options import Options
from .check_rows import check_rows
from .choose_integers import choose_integers
from .counted import counted
from .cpu.behind_branches import behind_branches
from .cpu.few_columns import few_columns
from .cpu.flatten_nests import flatten_nests
from .cpu.gather_rows import gather_rows
from .cpu.hand_over import hand_over
from .cpu.in_strips import in_strips
from .cpu.last_step import last_step
from .cpu.masked_rows import masked_rows
from .cpu.name_choices import name_choices
from .cpu.name_elements import name_elements
from .cpu.outer_products import outer_products
from .cpu.parallelise import parallelise
from .cpu.products_in_strips import products_in_strips
from .cpu.scale_once import scale_once
from .cpu.searches_in_strips import searches_in_strips
from .cpu.set_aside import set_aside
from .cpu.shift_and_peel import shift_and_peel
from .cpu.side_by_side import side_by_side
from .cpu.sort_values import sort_values
from .cpu.step_in_strips import step_in_strips
from .cpu.sums_in_parts import sums_in_parts
from .cpu.sweeps_in_strips import sweeps_in_strips
from .cpu.tell_apart import tell_apart
from .cpu.to_the_next import to_the_next
from .dead_stores import dead_stores
from .divide_once import divide_once
from .equal_lengths import equal_lengths
from .find_independent import find_independent, independent_as_they_are, independent_in_cases
from .first_touch import first_touch
from .flatten_rows import flatten_rows
from .fuse import fuse
from .gather import gather
from .gpu.add_apart import add_apart
from .gpu.alternate import alternate
from .gpu.by_quotients import by_quotients
from .gpu.change_places import change_places
from .gpu.checkpoints import checkpoints
from .gpu.clamped_apart import clamped_apart
from .gpu.clear_together import clear_together
from .gpu.compute_again import compute_again
from .gpu.copies_as_loops import copies_as_loops
from .gpu.distribute import distribute
from .gpu.fuse_boxes import fuse_boxes
from .gpu.gather_slices import gather_slices
from .gpu.gather_sums import gather_sums
from .gpu.guard_accesses import guard_accesses
from .gpu.interior import interior
from .gpu.keep_by_threads import keep_by_threads
from .gpu.keep_for_neighbours import keep_for_neighbours
from .gpu.keep_in_rows import keep_in_rows
from .gpu.keep_threads import keep_threads
from .gpu.lengths_of_arrays import lengths_of_arrays
from .gpu.made_where_read import made_where_read
from .gpu.numbers_where_read import numbers_where_read
from .gpu.offload import offload
from .gpu.one_loop_each import one_loop_each
from .gpu.place_numbers import place_numbers
from .gpu.read_at_first import read_at_first
from .gpu.read_behind import read_behind
from .gpu.read_once import read_once
from .gpu.say_ranges import say_ranges
from .gpu.scans import scans
from .gpu.searches_in_two import searches_in_two
from .gpu.stacked_products import stacked_products
from .gpu.states_in_rows import states_in_rows
from .gpu.store_once import store_once
from .gpu.stored_later import stored_later
from .gpu.sum_around import sum_around
from .gpu.sums_of_groups import sums_of_groups
from .gpu.sweep_and_add import sweep_and_add
from .gpu.threads_along_rows import threads_along_rows
from .hoist import hoist
from .hoist_arrays import hoist_arrays
from .hoist_guards import hoist_guards
from .hoist_scalars import hoist_scalars
from .indices_by_loops import indices_by_loops
from .induction import induction
from .interchange import interchange
from .lengths_once import lengths_once
from .lower_arrays import lower_arrays
from .made_where_kept import made_where_kept
from .name_joins import name_joins
from .name_lengths import name_lengths
from .name_places import name_all_places, name_places
from .name_squares import name_squares
from .peel import peel
from .periodic import neighbours, periodic
from .propagate_copies import propagate_copies
from .prove_bounds import prove_bounds
from .registers import registers
from .resolve_views import resolve_views
from .reverse_mode.assemble import assemble
from .reverse_mode.find_active import find_active
from .reverse_mode.forward_again import forward_again
from .reverse_mode.greatest_at_once import greatest_at_once, greatest_by_all_threads
from .reverse_mode.join_branches import join_branches
from .reverse_mode.keep import keep, without_keep
from .reverse_mode.keep_once import keep_once
from .reverse_mode.last_taken import last_taken
from .reverse_mode.open_rules import open_rules
from .reverse_mode.preaccumulate import preaccumulate
from .reverse_mode.read_copies import read_copies
from .reverse_mode.reverse import reverse
from .reverse_mode.simplify import simplify
from .reverse_mode.skip_zeros import skip_zeros
from .reverse_mode.zeros_chosen import zeros_chosen
from .scalar_arrays import scalar_arrays
from .settle_checks import settle_checks
from .share import share
from .share_lookups import share_lookups
from .slice_ends import slice_ends
from .split_ends import split_ends, split_ends_in_order
from .take_over import take_over
from .tidy import tidy
from .unchanged_copies import unchanged_copies
from .write_out import write_out, write_out_sums

Pass = Callable[[Function], Function]

PRIMAL: tuple[Pass, ...] = (
    lower_arrays,  # whole-array arithmetic becomes loops; right sides are evaluated first
    open_rules,  # adjoints that are given are of no use here
    zeros_chosen,  # what is left out where a cotangent is zero
    counted,  # `while` loops that count are `for` loops
    choose_integers,  # branches that only say what an integer is
    peel,  # the short end of a recursion is decided by the caller
    lengths_once,  # lengths that come out the same in every iteration are computed ahead of the loop
    hoist_arrays,  # so is what every step makes of the same things
    hoist_guards,  # and so are checks
    divide_once,  # behind the check of the divisor
    equal_lengths,  # loops over lengths that a check says are equal are loops over one range
    induction,  # counters become expressions of loop indices
    indices_by_loops,  # so do the names of indices
    slice_ends,  # slices that are not cut at the end of their array
    find_independent,  # loops of the user's that may run in any order
    fuse,  # loops over one range that may be one loop are; temporaries shrink to scalars
    scalar_arrays,  # so do arrays of a few elements
    hoist_scalars,  # what comes out the same in every iteration is computed once
    first_touch,  # nothing is cleared that is set anyway
    hoist,  # memory that every iteration would allocate is allocated ahead of the loop
    tidy,
    share_lookups,  # an index that is read from memory is read once
    interchange,  # the loop that runs along the rows of arrays goes to the inside of its nest
    prove_bounds,  # accesses that need no check of their own
)
DERIVATIVE: tuple[Pass, ...] = (
    lower_arrays,
    counted,
    choose_integers,
    peel,  # before find_active: what it takes over is differentiated in its place
    lengths_once,
    hoist_arrays,
    hoist_guards,
    divide_once,
    equal_lengths,
    induction,
    indices_by_loops,
    slice_ends,
    find_independent,
    fuse,
    scalar_arrays,
    hoist_scalars,
    greatest_at_once,  # before find_active: loops that have an adjoint as a whole, and not of their statements
    find_active,  # what carries derivatives: all the rest is left alone
    preaccumulate,  # recursive functions of one number hand back their partials
    reverse,  # reads primal values freely, as Old(t)
    zeros_chosen,  # what is left out of adjoints that are differentiated here
    simplify,  # before keep: fewer reads, fewer kept values
    keep,  # turns each Old(t) into a valid, recomputed or kept read
    assemble,  # one function for both sweeps, or the forward or the reverse half of a pair
    scalar_arrays,
    tidy,  # zero-then-add becomes assign; dead values and shadows go
    read_copies,  # before fuse: a loop may change an array while it reads what was kept of it
    fuse,
    join_branches,  # an iteration's forward and reverse part branch once
    flatten_rows,  # rows that are used element by element are no views
    first_touch,  # what is added to zero is assigned, too
    dead_stores,  # zeros that nobody looks at
    skip_zeros,  # loops that would pass on the cotangent of a branch that was not taken
    last_taken,  # of a search for the best, the iteration that found it
    keep_once,  # what several statements of one loop have kept
    share,  # what is dear to compute is computed once
    hoist,
    tidy,
    share_lookups,
    interchange,
    registers,  # elements that a loop adds to over and over are scalars in it
    prove_bounds,
)
OF_ITERATIONS: tuple[Pass, ...] = (
    products_in_strips,  # a matrix is multiplied by the vectors of many iterations at a time
)
SWEEP_ON_A_CPU: tuple[Pass, ...] = (
    gather_rows,  # neighbours in a row do not pass sums through memory
    scale_once,  # steps that only scale a cotangent are one
    fuse,
    scalar_arrays,  # what is left of arrays whose handles are gone by now
    unchanged_copies,  # of v, where nothing is added to it
    take_over,  # what is made of an array that nobody needs any more is made in its place
    propagate_copies,  # numbers that are others, or that nobody reads any more
)
ON_A_CPU: tuple[Pass, ...] = (
    check_rows,  # what chooses the row that a loop runs along is checked once
    in_strips,  # a matrix that is needed as it is and turned is read once
)
ON_ONE_THREAD: tuple[Pass, ...] = (
    flatten_nests,  # elements of short rows fill vector registers as those of long ones do
    sweeps_in_strips,  # what goes through many steps element by element is kept in the cache
    step_in_strips,  # … and is read once
    last_step,  # nobody looks at the state after the last step
)
IN_VECTORS: tuple[Pass, ...] = (
    outer_products,  # what steps add to a matrix is added for many of them at a time
    side_by_side,  # iterations around others go through them together, in vector registers
    shift_and_peel,  # what one loop leaves to the next one stays in registers
    behind_branches,  # neighbours are added to in every iteration
    set_aside,  # so is what is added further ahead
    hand_over,  # what is added to neighbours goes on to the next iterations, and the loop vectorises
    to_the_next,  # what the next iteration reads waits for no memory
    few_columns,  # rows of up to four elements are no loops
    masked_rows,  # what does not fill a register of a short row goes into one that is masked
    sums_in_parts,  # long ones of float32 keep their digits
    searches_in_strips,  # of elements, most are not the best
    tell_apart,  # inner loops of which LLVM would ask at run time whether rows overlap
)
AT_THE_ENDS: tuple[Pass, ...] = (
    prove_bounds,
    split_ends,  # what is near an end of its range is gone over apart
    name_all_places,  # an inner loop asks nothing about the index of an outer one
)
ON_STACKS: tuple[Pass, ...] = (
    made_where_kept,  # what is kept of a part of the program that runs nobody knows how often
)
BYTECODE: tuple[Pass, ...] = (
    name_joins,  # branches in a chain, which are an `elif` in the text
    name_squares,  # an inner loop does not find anew where a row of a packed triangle begins
    name_choices,  # no array waits on Python's stack while a condition branches
    name_lengths,  # what the user calls what a slice leaves of an axis
    settle_checks,  # behind all that makes checks: those that never fail, or were made before
)
ANY_ORDER_ON_A_GPU: tuple[Pass, ...] = (
    scalar_arrays,  # steps that a table has are known
    write_out_sums,  # loops of a few iterations
    periodic,  # steps that go around the ends of an axis
    read_behind,  # names that a loop sets, and that are not its own
    say_ranges,  # a step, and a place half of it further on, are made of one number
    independent_in_cases,  # in place of find_independent: which case it is, the host asks
    one_loop_each,  # what is greatest is looked for in a loop of its own
    split_ends_in_order,  # a recurrence does not ask whether there is an element before
)
ON_A_GPU: tuple[Pass, ...] = (
    keep_in_rows,  # iterations that run at one time share no stack
    keep_by_threads,  # neither do those of which each keeps as much as it turns out to need
    guard_accesses,  # a device checks no index
    resolve_views,  # a kernel has no handles on parts of arrays
    lengths_of_arrays,  # `n` and `u.shape[0]` are one length
    independent_as_they_are,  # loops of the sweep's own too: the products that each row of a matrix makes
    by_quotients,  # behind resolve_views: rows of a few elements that were made one row
    scalar_arrays,  # sums and means that keep their axes
    add_apart,  # so do those without axes
    keep_threads,  # before fuse and store_once: a number of each column's, instead of a kernel for each row
    clamped_apart,  # … so that they are neighbours, but at the ends
    keep_for_neighbours,  # ahead of gather, which computes again what is cheap
    gather,  # instead of gather_rows: nobody adds to an element of another thread's, where that can be had
    states_in_rows,  # a step copies no state to keep it
    unchanged_copies,  # what had the first state is an argument
    alternate,  # sweeps over a grid copy and clear nothing on the way
    change_places,  # nor move on what they made for the step before
    sweep_and_add,  # nor gather by themselves what they add
    sum_around,  # nor add up in the end what they have cleared
    stored_later,  # ahead of take_over: what an array held may be wanted again
    take_over,
    first_touch,
    copies_as_loops,  # behind all that knows a copy when it sees one, and before fuse
    resolve_views,  # a row that is set by a loop now
    fuse,
    fuse_boxes,  # so are loops over a part of what others go over
    gather_slices,  # ahead of gather_sums, which goes over nests that have nothing in between
    gather_sums,  # behind fuse, which would put them back where they were: sums that every iteration adds to
    first_touch,  # such sums are all that there is in an element
    stored_later,  # what is added to later is stored there; now that loops are one
    store_once,  # an element that a thread changes again and again is a scalar in between
    read_once,  # what it has just stored it does not read back
    compute_again,  # nor what arithmetic gives sooner than memory
    checkpoints,  # nor each state of a loop that makes the next one with little
    propagate_copies,
    made_where_read,  # what a column is divided by is no kernel of its own
    interior,  # whether neighbours are there a thread asks once
    name_places,
    searches_in_two,  # for the best, and for the first that is as good
    scans,  # what is passed on from one iteration to the next, in parts
    distribute,  # each part of independent steps between calls of libraries is a kernel for all of them
    stacked_products,  # so are the calls, where each multiplies two matrices
    offload,  # independent loops become kernels, and the host launches them
    place_numbers,  # what is computed from sums stays on the device, until the host decides by it
    numbers_where_read,  # by the kernels that need it, where that is little
    read_at_first,  # the first of many steps reads an argument, and no copy of it
    name_squares,  # … where rows of packed triangles begin
    threads_along_rows,  # what neighbouring threads touch lies side by side
    name_joins,
    clear_together,  # arrays of zeros are one piece of memory
)
NEEDED = {
    "zeros_chosen",
    "lower_arrays",
    "find_active",
    "reverse",
    "keep",
    "assemble",
    "tidy",
}  # without keep, gradients go wrong
OPTIONAL = {
    step.__name__
    for step in (
        *PRIMAL,
        *DERIVATIVE,
        *OF_ITERATIONS,
        *SWEEP_ON_A_CPU,
        *ON_A_CPU,
        *ON_ONE_THREAD,
        *IN_VECTORS,
        *ON_STACKS,
        *BYTECODE,
        name_elements,
        write_out,
        neighbours,
        sort_values,
        split_ends,
    )
} - NEEDED  # without these: right, and slower
_left_out: set[str] = set()


def passes_for(kind: str, options: Options) -> tuple[Pass, ...]:
    steps = PRIMAL if kind == "primal" else DERIVATIVE
    if options.again:
        return tuple(step for step in steps if step.__name__ in NEEDED and step is not zeros_chosen)
    if options.target == "cuda":
        steps = _with(steps, find_independent, ANY_ORDER_ON_A_GPU)
        steps = _with(steps, greatest_at_once, (greatest_by_all_threads,))
        steps = _with(steps, hoist, (scalar_arrays, hoist))  # numbers that are an iteration's own, ahead of the others
        steps = _with(
            steps, prove_bounds, (by_quotients, sums_of_groups, prove_bounds)
        )  # ends of loops say what is inside
        if kind in ("forward", "pullback"):  # both halves have to agree, and each sees its own alone in the end
            steps = _with(steps, keep, (keep, keep_in_rows, forward_again))
        return _chosen((*steps, *ON_A_GPU))
    steps = _with(_with(steps, find_independent, (write_out, neighbours, find_independent)), prove_bounds, AT_THE_ENDS)
    steps = _with(steps, lower_arrays, (name_elements, lower_arrays))  # what waits for no element needs no temporary
    if kind == "primal":
        steps = _with(steps, lower_arrays, (lower_arrays, sort_values))  # before fuse: the loop is as it was written
    if not options.parallel:
        steps = _with(steps, hoist, (*OF_ITERATIONS, hoist))
    if kind != "primal":
        steps = (*steps, *SWEEP_ON_A_CPU)
    # parallelise after prove_bounds: what fails ahead of a loop fails once
    steps = (*steps, *ON_A_CPU, *((parallelise, flatten_nests) if options.parallel else ON_ONE_THREAD))
    return _chosen((*steps, *IN_VECTORS, *ON_STACKS, *BYTECODE))


def _with(steps: tuple[Pass, ...], known: Pass, more: tuple[Pass, ...]) -> tuple[Pass, ...]:
    return tuple(step for each in steps for step in (more if each is known else (each,)))


def _chosen(steps: tuple[Pass, ...]) -> tuple[Pass, ...]:
    return tuple(without_keep if s is keep and "keep" in _left_out else s for s in steps if _is_run(s))


def _is_run(step: Pass) -> bool:
    return step.__name__ not in _left_out or step is keep


@contextmanager
def without(name: str) -> Iterator[None]:
    """Leave a pass out for a while (for tests)."""
    assert name in OPTIONAL | {"keep"}, name
    _left_out.add(name)
    try:
        yield
    finally:
        _left_out.discard(name)
