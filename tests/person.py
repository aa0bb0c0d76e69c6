"""A client at which a person sits, who says yes to every confirmation and can be asked no more."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pecia.kernel.tool.call import Inquiry, Question, Reply
from pecia.kernel.tool.quiet import QUIET, Quiet


@dataclass(slots=True)
class Person(Quiet):
    """Says the same to every confirmation, and remembers what it was asked."""

    action: str = "accept"
    asked: list[str] = field(default_factory=list[str])

    async def inquire(self, inquiries: Mapping[str, Inquiry]) -> Mapping[str, Reply]:
        confirms = [it for it in inquiries.values() if isinstance(it, Question)]
        if len(confirms) < len(inquiries) or not all(it.is_confirmation for it in confirms):
            return await QUIET.inquire(inquiries)
        self.asked += [it.message for it in confirms]
        return {key: Reply(self.action) for key in inquiries}
