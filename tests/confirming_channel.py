"""A client at which a person sits, who says yes to every confirmation and can be asked no more."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pecia.kernel.tool.call import ClientInquiry, ClientReply, Elicitation
from pecia.kernel.tool.null_channel import NULL_CHANNEL, NullChannel


@dataclass(slots=True)
class Person(NullChannel):
    """Says the same to every confirmation, and remembers what it was asked."""

    action: str = "accept"
    asked: list[str] = field(default_factory=list[str])

    async def inquire(self, inquiries: Mapping[str, ClientInquiry]) -> Mapping[str, ClientReply]:
        confirms = [it for it in inquiries.values() if isinstance(it, Elicitation)]
        if len(confirms) < len(inquiries) or not all(it.is_confirmation for it in confirms):
            return await NULL_CHANNEL.inquire(inquiries)
        self.asked += [it.message for it in confirms]
        return {key: ClientReply(self.action) for key in inquiries}
