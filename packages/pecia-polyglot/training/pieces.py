"""Makes the tokenizer: `python pieces.py LESSONS OUT [PIECES] [TEXTS]`.

Byte-pair encoding: on a small sample a unigram model took seventeen times the CPU to train.

Texts of all languages are drawn by the root of their number, so that a small language gets pieces
of its own.
"""

import random
import sys
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

sys.path.insert(0, str(Path(__file__).parent))

from lessons import BEGIN, END, PAD, language_names, read_language

UNKNOWN = "<unk>"
# Most of them Chinese signs.
ALPHABET = 12_000
# Vowel signs of Arabic and Hebrew, which most texts leave out, and the stretched letter.
MARKS = "[\u064b-\u065f\u0670\u0640\u0591-\u05c7]"


def blank() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Lowercase(), normalizers.Replace(Regex(MARKS), "")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(),
            pre_tokenizers.Punctuation(),
            pre_tokenizers.Digits(individual_digits=True),
        ]
    )
    return tokenizer


def drawn(folder: Path, most: int) -> Iterator[str]:
    found = {name: read_language(folder, name)[0] for name in ["english", *language_names(folder)]}
    roots = {name: len(texts) ** 0.6 for name, texts in found.items()}
    chooser = random.Random(22)
    for name, texts in found.items():
        count = min(len(texts), int(most * roots[name] / sum(roots.values())))
        yield from chooser.sample(texts, count)


def main() -> None:
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    pieces = int(sys.argv[3]) if len(sys.argv) > 3 else 98_304
    most = int(sys.argv[4]) if len(sys.argv) > 4 else 600_000
    tokenizer = blank()
    trainer = trainers.BpeTrainer(
        vocab_size=pieces,
        special_tokens=[PAD, UNKNOWN, BEGIN, END],
        limit_alphabet=ALPHABET,
        max_token_length=16,
        show_progress=False,
    )
    tokenizer.train_from_iterator(drawn(folder, most), trainer)
    out.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(out), pretty=False)
    sys.stdout.write(f"{tokenizer.get_vocab_size()} pieces\n")


if __name__ == "__main__":
    main()
