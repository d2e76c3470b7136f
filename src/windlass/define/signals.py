"""Which signals the code declares, by function and by name: `@app.on(order, enters="failed")`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from windlass.define import signature
from windlass.define.signal import start_action
from windlass.define.workflow import Openable, WorkflowDefinition
from windlass.define.workflows import Workflows, identity_of
from windlass.errors import AlreadyExists, InvalidInput
from windlass.model.signal import DeclaredSignal, Trigger
from windlass.rules.limits import check_name

INSTEAD = "Let it take that, or nothing."


class SignalDefinition(Struct, frozen=True, kw_only=True):
    """One declaration in the code. The workflow is looked up when it is entered: a notebook may declare it anew."""

    name: str
    function: Callable[..., Any]
    trigger: Trigger
    repeats: bool
    location: str


class SignalDeclarations:
    """The signals that one App has declared."""

    def __init__(self, workflows: Workflows) -> None:
        self._workflows = workflows
        self._declared: dict[str, SignalDefinition] = {}

    def declare(
        self,
        function: Callable[..., Any],
        *,
        name: str | None,
        trigger: Trigger,
        repeats: bool,
        options: Mapping[str, Any],
        local: Mapping[str, Any] | None = None,
    ) -> SignalDefinition:
        """Declare when a function is started; one that is no workflow yet becomes one, with these options.

        Raises InvalidInput for arguments other than a firing, AlreadyExists if the name is another signal's.
        """
        workflow = self._workflow(function, options, local)
        start_action(workflow, instead=INSTEAD)
        plain = workflow.function
        definition = SignalDefinition(
            name=check_name(workflow.name if name is None else name, what="signal name"),
            function=plain,
            trigger=trigger,
            repeats=repeats,
            location=signature.locate(plain),
        )
        known = self._declared.get(definition.name)
        if known is not None and (known.function is plain or identity_of(known.function) != identity_of(plain)):
            raise _taken(definition, known)
        self._declared[definition.name] = definition
        self._workflows._tell()
        return definition

    def commands(self) -> tuple[DeclaredSignal, ...]:
        """What the declared signals ask of the engine, each of the workflow its function is by now."""
        return tuple(
            DeclaredSignal(
                name=item.name,
                trigger=item.trigger,
                action=start_action(self._workflows.find_workflow(item.function), instead=INSTEAD),
                repeats=item.repeats,
            )
            for item in self._declared.values()
        )

    def _workflow(
        self, function: Callable[..., Any], options: Mapping[str, Any], local: Mapping[str, Any] | None
    ) -> WorkflowDefinition:
        given: object = function
        plain = given.opening() if isinstance(given, Openable) else signature.check_workflow_function(given)
        self._workflows._refuse_job(plain, verb="app.on")
        known = self._workflows._declared_as(plain)
        if known is None or known.function is not plain:
            return self._workflows.declare_workflow(plain, local=local, **options)
        if options:
            raise InvalidInput(
                f"{known.kind} {known.name!r} is declared with options of its own: give {next(iter(options))} there, "
                "and not to app.on.",
                reason="invalid_option",
                path=next(iter(options)),
            )
        return known


def _taken(definition: SignalDefinition, known: SignalDefinition) -> AlreadyExists:
    return AlreadyExists(
        f"Signal {definition.name!r} is declared twice: at {known.location} and at {definition.location}. "
        "Give one of them name=.",
        reason="already_registered",
        owner=known.location,
    )
