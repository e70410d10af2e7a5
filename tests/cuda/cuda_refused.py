"""Programs of the corpus that do not run on a GPU, and why: a table, so that a change is seen."""

REASONS = {
    "sequential": "nothing in .* runs in parallel",
    "function": "a recursive or very large function does not run on a GPU",
    "complex": "complex numbers do not run on a GPU yet|nothing in .* runs in parallel",  # whichever is seen first
}

PROGRAMS = {
    "sequential": {
        "branches": "branch_in_a_loop only_one_side_defines",
        "calls": "callee_in_a_loop",
        "complex_programs": "cooley_tukey mixed_precisions",
        "elimination": "back_substituted written_twice_by_a_negative_index",
        "in_place": "scatter_one_by_one cumulative_sum",
        "language": "finally_runs",
        "lists": "grows_in_a_loop",
        "loops": (
            "repeated_sine range_at_run_time while_newton break_out return_early nested_jumps "
            "while_with_everything branch_carried many_iterations "
            "for_else_free_search places_that_meet keeps_of_all_kinds "
            "adding_powers"
        ),
        "packed": "upwards_from_the_end counts_down odd_steps from_an_argument goes_on_in_the_next_row",
        "physics": "leapfrog kepler",
        "searches": (
            "beginning_with_an_argument from_the_end farthest_pair "
            "better_than_half with_its_place time_warping the_last_below infinite_slopes"
        ),
        "small": "lorenz swapped_in_turn until_large",
    },
    "function": {
        "complex_programs": "by_halves",
        "recursion": (
            "repeated_product fibonacci power_by_squaring adaptive_simpson tree_sum tree_sum_of_slices "
            "determinant_by_minors determinant_by_bits determinant_of_new_arrays fourier even_or_odd "
            "ackermann_like continued_fraction prefix_in_place merged recursion_in_a_while_loop rebinding "
            "matrix_power inner_function reads_from_outside agm rows_as_views local_arrays_overwritten "
            "leaves_loops_early calls_as_arguments calls_in_conditions two_dtypes returns_its_argument "
            "some_arguments index_from_a_call nested_recursions mutual_with_self tuples_go_along windows "
            "cholesky_in_place state_between_calls"
        ),
    },
    "complex": {
        "complex_programs": (
            "mandelbrot_series split_step eliminate newton_root until_it_leaves impedance analytic_signal "
            "filter_by_spectrum poisson evolve leapfrog_parts vortices mobius beamform phase_unwrapped "
            "real_at_first"
        ),
    },
}

# Nothing in them is parallel but their reverse.
CALLS_REFUSED = {
    "branches.jumps_in_a_loop_in_a_branch",
    "elimination.bound_that_moves",
    "in_place.while_writes",
    "lists.appends_under_a_condition",
    "lists.stops_early",
    "loops.bound_set_inside",
    "loops.fibonacci_like",
    "loops.scratch_that_goes_round",
    "loops.table_of_tables",
    "loops.varying_trip_counts",
    "loops.while_two_conditions",
    "resized.longer_by_one",
    "resized.without_its_first",
    "resized.without_its_last",
    "searches.best_of_each_step",
}

REFUSED = {
    f"{family}.{name}": reason
    for reason, families in PROGRAMS.items()
    for family, names in families.items()
    for name in names.split()
}
