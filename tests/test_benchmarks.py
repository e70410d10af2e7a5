"""The programs of the benchmarks: srcgrad agrees with the adjoints by hand, in plain Python, on a few elements."""

import pytest

from benchmarks.contestants import disagreement, rebuilt, with_srcgrad
from benchmarks.cost import slope
from benchmarks.programs import PROGRAMS
from srcgrad import check_grad, grad

BY_HAND = [name for name, program in PROGRAMS.items() if program.by_hand is not None]


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - set(BY_HAND)))
def test_gradient_agrees_with_differences(name: str) -> None:
    program = PROGRAMS[name]
    check_grad(grad(program.primal, wrt=program.wrt, jit=False), *program.arguments(program.tiny))


@pytest.mark.parametrize("name", BY_HAND)
def test_gradient_agrees_with_the_adjoint_by_hand(name: str) -> None:
    program = PROGRAMS[name]
    arguments = program.arguments(program.tiny)
    v = program.cotangent(arguments)
    by_hand = rebuilt(program.by_hand, lambda function: function)(*arguments, v)
    gradient = with_srcgrad(program, arguments, v, jit=False).gradient
    found = gradient()
    assert disagreement(program, found, by_hand) is None


@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_fit_the_data(name: str) -> None:
    program = PROGRAMS[name]
    assert all(program.label(size.arguments) for size in program.sizes)
    assert all(parameter in program.parameters for parameter in program.wrt)


def test_disagreement_is_told() -> None:
    program = PROGRAMS["recurrence"]
    assert disagreement(program, (1.0, 2.0), (1.0, 2.0)) is None
    assert disagreement(program, (1.0, 2.5), (1.0, 2.0)) == "r_b is off by 0.5, of 2"
    assert disagreement(program, (1.0, float("nan")), (1.0, 2.0)) == "r_b is off by nan, of 2"
    assert disagreement(program, 1.0, (1.0, 2.0)) == "1 cotangents, not 2"


def test_slope_is_that_of_the_upper_half() -> None:
    points = [{"size": n, "gradient": 5.0 + n**2} for n in (1, 10, 100, 1_000, 10_000)]
    assert abs(slope(points, "gradient") - 2.0) < 0.01


LISTING = """
        .headerflags    @"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_64BIT_ADDRESS"
.text.f:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   IMAD.WIDE R4, R5, UR5, R2 ;
.L_x_9:
        /*0020*/              @!P0 ISETP.GE.AND.EX P1, PT, R13, UR25, PT, P1 ;
        /*0030*/                   UIADD3.X UR11, UR11, -0x1, URZ, UP0, !UPT ;
        /*0040*/               @P0 FFMA R21, R25, -6, R6 ;
        /*0050*/                   EXIT ;
        /*0060*/                   NOP;
"""


def test_machine_code_is_counted() -> None:
    from benchmarks.cuda.machine_code import counted

    said = "ptxas info    : Used 38 registers, used 0 barriers, 112 bytes cumulative stack size"
    assert counted(LISTING, said) == (6, 3, 38, 112)
    assert counted(LISTING, "ptxas info    : Used 8 registers").stack == 0
