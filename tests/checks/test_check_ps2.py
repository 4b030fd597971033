"""The checks of problem set 2, tried on right and wrong submissions and on the untouched set."""

import contextlib
import inspect
import itertools
import re

import numpy as np
import pytest
import torch
from sheet import Sheet, arguments, submissions
from torch.utils._python_dispatch import _get_current_dispatch_mode, _pop_mode
from torch.utils.flop_counter import FlopCounterMode

from course import ROOT, notebooks
from course.checks import Wrong, ps2_products
from course.checks import ps2_flop_counter as ps2
from course.checks.cases import SECRET
from course.checks.question import Question, as_remote
from course.grading.remedies import clear
from course.specs import gpu

SET = "ps2_flop_counter"
SHEET = Sheet(SET)
RIGHT, WRONG = submissions(SET, "right"), submissions(SET, "wrong")


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    """Start with the public seed; end with no dispatch mode that a submission left on."""
    monkeypatch.delenv(SECRET, raising=False)
    yield
    while _get_current_dispatch_mode() is not None:
        _pop_mode()


def name(submission):
    return submission.name


def test_the_reference_is_right():
    outcome = SHEET.run()
    assert not outcome.wrong
    assert len(outcome.right) == 14
    for printed in outcome.printed.values():
        assert re.fullmatch(r"\w+: right \(.+\)\n", printed)


@pytest.mark.parametrize("seed", [f"seed {i}" for i in range(12)])
def test_the_reference_is_right_for_every_seed(seed, monkeypatch):
    monkeypatch.setenv(SECRET, seed)
    assert not SHEET.run(wrap=as_remote, last=True).wrong


def test_the_untouched_release_scores_nothing():
    """Stubs as the release has them: each check says so, and no check is right by accident."""
    stubs = {cell_id: clear(SHEET.source(cell_id)) for cell_id in SHEET.ids("answer")}
    for wrap in (None, as_remote):
        outcome = SHEET.run(stubs, wrap=wrap)
        assert not outcome.right
        for error in outcome.wrong.values():
            assert isinstance(error, Wrong)
            assert "not answered yet" in str(error)


@pytest.mark.parametrize("submission", RIGHT, ids=name)
@pytest.mark.parametrize("seed", [None, "one", "two"])
def test_right_submissions_are_right(submission, seed, monkeypatch):
    if seed:
        monkeypatch.setenv(SECRET, seed)
    outcome = SHEET.run(submission.cells, wrap=as_remote if seed else None, last=bool(seed))
    assert not outcome.wrong


@pytest.mark.parametrize("submission", WRONG, ids=name)
@pytest.mark.parametrize("wire", [False, True], ids=["here", "over the wire"])
def test_wrong_submissions_lose_what_they_should_and_are_told_why(submission, wire, monkeypatch):
    seed = submission.seed or ("one" if wire else None)
    if seed:
        monkeypatch.setenv(SECRET, seed)
    outcome = SHEET.run(submission.cells, wrap=as_remote if wire else None, last=wire)
    assert list(outcome.wrong) == submission.loses
    assert all(isinstance(error, Wrong) for error in outcome.wrong.values())
    assert submission.says in str(outcome.wrong[submission.loses[0]])


@pytest.mark.slow
@pytest.mark.parametrize("submission", WRONG, ids=name)
def test_wrong_submissions_fail_for_many_seeds(submission, monkeypatch):
    for seed in range(10):
        monkeypatch.setenv(SECRET, f"many {seed}")
        outcome = SHEET.run(submission.cells, wrap=as_remote, last=True)
        assert list(outcome.wrong) == submission.loses
        assert submission.says in str(outcome.wrong[submission.loses[0]])


def test_answers_learnt_by_heart_pass_with_the_public_seed_only():
    """So the submission that must lose really has the right public answers."""
    learnt = [submission for submission in WRONG if submission.seed]
    assert learnt
    for submission in learnt:
        assert not SHEET.run(submission.cells).wrong


def test_submissions_replace_answers_and_say_what_they_are():
    answers, tests = set(SHEET.ids("answer")), SHEET.ids("test")
    assert len(RIGHT) >= 4
    for submission in RIGHT + WRONG:
        assert submission.doc, submission.name
        assert submission.cells.keys() <= answers, submission.name
        assert submission.cells, submission.name
    for submission in WRONG:
        assert submission.says, submission.name
        assert submission.loses == [t for t in tests if t in submission.loses], submission.name


def test_each_check_is_the_first_to_catch_some_wrong_submission():
    caught = {submission.loses[0] for submission in WRONG}
    assert caught == set(SHEET.ids("test"))


GARBAGE = [
    *(None, True, "7", -1, 0, 0.5, 2**900, float("nan"), float("inf"), [], {}, (1, "a"), [[None]]),
    *(
        {"a": None},
        {3: [1]},
        {"flops": {}, "by_operator": {"aten.t": [1]}, "unknown": {"aten.t": "x"}},
    ),
    *(np.array([1.0, np.nan]), np.zeros((0, 2)), torch.ones(2, 3), torch.tensor(3), np.bool_(True)),
]


def spoilt(answer):
    """Yield `answer` with some part of it replaced by garbage, in every way."""
    yield from GARBAGE
    if isinstance(answer, dict):
        for key in answer:
            yield {k: v for k, v in answer.items() if k != key}
            for part in spoilt(answer[key]):
                yield answer | {key: part}


@pytest.mark.parametrize("cell_id", SHEET.ids("test"))
def test_no_answer_makes_a_check_fail_itself(cell_id):
    """Whatever a function returns, the check finds it right or raises Wrong: no other error."""
    check = getattr(ps2, cell_id.removeprefix("test_"))
    functions, asked = {}, []
    SHEET.run(wrap=lambda function: functions.setdefault(function.__name__, function))
    (argument,) = arguments(SHEET.source(cell_id))
    if argument.id not in functions:  # a theory question
        for number in GARBAGE:
            with pytest.raises(Wrong):
                check(number)
        return

    def reference(*args):
        asked.append(functions[argument.id](*args))
        return asked[-1]

    check(reference)
    for garbage in spoilt(asked[-1]):
        with contextlib.suppress(Wrong):
            check(lambda *args, garbage=garbage: garbage)
    for garbage in spoilt(asked[0]):
        with pytest.raises(Wrong):
            check(lambda *args, garbage=garbage: garbage)


# --- the references themselves ----------------------------------------------------------------


def model(name, shapes):
    """Build a model of the notebook; what runs is the notebook's own code."""
    space = {}
    for cell_id in ("setup", "models"):
        exec(SHEET.source(cell_id), space)
    return space["build"](name, shapes)


def sizes(name):
    question = Question(SET, f"references {name}", None)
    if name == "checkpointed_mlp":
        return {"batch": 11, "widths": [7, 5, 13, 3]}
    return ps2._sizes(question, name)


@pytest.mark.parametrize(
    "name", ["linear", "mlp", "checkpointed_mlp", "bmm", "einsum", "conv", "convnet", "attention"]
)
def test_products_agree_with_pytorchs_counter_where_that_is_right(name):
    shapes = sizes(name)
    products, run = ps2_products.products(name, shapes), model(name, shapes)
    with FlopCounterMode(display=False) as forward:
        loss = run().sum()
    with FlopCounterMode(display=False) as backward:
        loss.backward()
    assert forward.get_total_flops() == ps2_products.forward_flops(products)
    assert backward.get_total_flops() == ps2_products.backward_flops(products)


@pytest.mark.parametrize("name", ["matvec", "sdpa"])
def test_pytorchs_counter_misses_what_the_set_says_it_misses(name):
    run = model(name, sizes(name))
    with FlopCounterMode(display=False) as counter:
        run()
    assert counter.get_total_flops() == ps2._builtin(name, sizes(name)) == 0


def test_sdpa_forward_is_the_work_of_its_mathematical_form():
    shapes = sizes("sdpa")
    run = model("sdpa", shapes)
    with (
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
        FlopCounterMode(display=False) as counter,
    ):
        run()
    expected = ps2_products.forward_flops(ps2_products.products("sdpa", shapes))
    assert counter.get_total_flops() == expected


def test_a_window_is_counted_where_it_fits():
    for size, kernel, stride, padding in itertools.product((5, 8), (1, 3), (1, 2, 3), (0, 2)):
        x, w = torch.ones(1, 1, size), torch.ones(1, 1, kernel)
        out = torch.nn.functional.conv1d(x, w, stride=stride, padding=padding)
        assert ps2_products.positions(size, kernel, stride, padding) == out.shape[-1]


def test_grouped_convolution_is_one_product_for_each_group():
    x, w = [2, 6, 11, 13], [9, 2, 3, 5]  # three groups: 3 filters, 2 channels each
    grouped = ps2_products.conv_product(x, w, [1, 2], [1, 0]).flops
    part = ps2_products.conv_product([2, 2, 11, 13], [3, 2, 3, 5], [1, 2], [1, 0]).flops
    assert grouped == 3 * part


def test_the_sizes_of_a_case_are_all_different():
    for name in ("linear", "bmm", "einsum", "attention", "sdpa", "matvec"):
        shapes = sizes(name)
        assert len(set(shapes.values())) == len(shapes)


# --- what the text says -----------------------------------------------------------------------


def test_numbers_in_the_questions_are_those_of_the_data_sheet():
    path = ROOT / "solutions" / SET / f"{SET}.ipynb"
    text = {cell["id"]: cell["source"] for cell in notebooks.read(path)["cells"]}
    peak = f"{gpu('H100 SXM').peak('bf16') / 1e12:.1f}"
    assert f"{peak} TFLOP/s" in text["question-days"]
    assert f"{peak}e12" in text["training_days"]


def test_the_end_table_is_explained_with_its_own_numbers():
    shapes = {"batch": 2, "tokens": 64, "heads": 4, "dim": 128, "hidden": 512}
    assert repr(shapes)[1:-1] in SHEET.source("table").replace("\n", " ").replace('"', "'")
    *linear, scores, mix = ps2_products.products("block", shapes)
    steps = [
        ps2_products.forward_flops(part) + ps2_products.backward_flops(part)
        for part in (linear, [scores, mix])
    ]
    path = ROOT / "solutions" / SET / f"{SET}.ipynb"
    text = {cell["id"]: cell["source"] for cell in notebooks.read(path)["cells"]}["end-reveal"]
    for number in (f"{steps[0]:,}", f"{sum(steps):,}", f"{steps[1] / sum(steps):.1%}"):
        assert number.replace("%", " %") in text
    assert f"{40 * steps[0] / sum(steps):.1f} %" in text


def test_theory_answers():
    """By other arithmetic than the checks use."""
    attention = {"batch": 1, "heads": 16, "queries": 4096, "keys": 4096, "dim": 64}
    core = ps2_products.products("sdpa", attention)
    both = ps2_products.forward_flops(core) + ps2_products.backward_flops(core)
    ps2.flash_training(both / 1e9)
    block = {"batch": 1, "tokens": 24_576, "heads": 32, "dim": 4096, "hidden": 4 * 4096}
    *linear, scores, mix = ps2_products.products("block", block)
    assert sum(p.flops for p in linear) == scores.flops + mix.flops
    ps2.attention_crossover(block["tokens"])
    ps2.training_days(20.64)


def test_every_check_says_what_it_checks():
    for check in SHEET.ids("test"):
        assert inspect.getdoc(getattr(ps2, check.removeprefix("test_"))).startswith("Check")
