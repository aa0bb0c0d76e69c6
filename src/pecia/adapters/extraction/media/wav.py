"""The sound of a WAV file, in the one shape that speech engines take."""

import io
import wave

import numpy as np
from numpy.typing import NDArray

from pecia.adapters.extraction.readers.input_file import UnreadableFile
from pecia.adapters.extraction.status import ExtractionStatus

_RATE = 16_000


def decode_wav(data: bytes) -> bytes:
    """16-bit samples of one channel, 16,000 a second, whatever the recording has."""
    try:
        with wave.open(io.BytesIO(data)) as sound:
            width, channels, rate = (
                sound.getsampwidth(),
                sound.getnchannels(),
                sound.getframerate(),
            )
            frames = sound.readframes(sound.getnframes())
    except (wave.Error, EOFError) as error:
        raise UnreadableFile(
            ExtractionStatus.CORRUPT, "It is a WAV recording that is damaged."
        ) from error
    if width != 2 or not channels or not rate:
        raise UnreadableFile(
            ExtractionStatus.UNSUPPORTED, "It is a WAV recording of other than 16-bit samples."
        )
    whole = np.frombuffer(frames[: len(frames) // (2 * channels) * 2 * channels], dtype="<i2")
    mono = whole.reshape(-1, channels).mean(axis=1)
    return _resample(mono, rate).astype("<i2").tobytes()


def _resample(mono: NDArray[np.float64], rate: int) -> NDArray[np.float64]:
    length = int(len(mono) * _RATE / rate)
    places = np.arange(length) * (rate / _RATE)
    return np.interp(places, np.arange(len(mono)), mono) if len(mono) else mono
