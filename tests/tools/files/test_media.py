"""Images and PDF files as blocks: made as small as the model sees them, upright, or refused in a sentence."""

import base64
import io
import zlib

import pytest
from PIL import Image as Pillow

from prunecli.model.messages import Media
from prunecli.tools.files.image import MAX_BASE64, header_of
from prunecli.tools.files.media import MAX_DOCUMENT, document_of, image_of, text_of_pdf
from tests.tools.files.pdfs import pdf
from tests.tools.files.test_image import png

PDFS = Media(documents=True)


def picture(form: str, width: int, height: int, mode: str = "RGB", **more: object) -> bytes:
    out = io.BytesIO()
    Pillow.linear_gradient("L").resize((width, height)).convert(mode).save(out, form, **more)  # type: ignore[arg-type]
    return out.getvalue()


LARGE = picture("PNG", 2000, 1000)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_small_image_is_sent_byte_for_byte(form: str) -> None:
    data = picture(form, 300, 200)
    block = image_of(data, Media())
    assert (base64.b64decode(block.data), block.width, block.height) == (data, 300, 200)
    assert block.media_type == f"image/{form.lower()}"


@pytest.mark.parametrize(
    ("form", "mode", "media_type"),
    [
        ("PNG", "RGB", "image/png"),
        ("PNG", "RGBA", "image/png"),
        ("PNG", "P", "image/png"),
        ("PNG", "LA", "image/png"),
        ("PNG", "1", "image/png"),
        ("JPEG", "RGB", "image/png"),
        ("JPEG", "CMYK", "image/png"),
        ("GIF", "P", "image/png"),
        ("WEBP", "RGBA", "image/png"),
    ],
)
def test_a_large_image_is_made_as_large_as_the_model_sees_it(form: str, mode: str, media_type: str) -> None:
    block = image_of(picture(form, 4000, 2000, mode), Media())
    assert (block.width, block.height) == (1516, 758)
    header = header_of(base64.b64decode(block.data))
    assert (header.width, header.height) == (1516, 758)
    assert header.media_type == block.media_type
    assert block.media_type in ("image/jpeg", media_type)
    assert block.width * block.height <= 1_150_000


def test_the_long_edge_counts_as_well_as_the_pixels() -> None:
    block = image_of(picture("PNG", 4000, 40), Media())
    assert (block.width, block.height) == (1568, 15)
    large = image_of(picture("PNG", 4000, 3000), Media(edge=2000, pixels=3_000_000))
    assert (large.width, large.height) == (2000, 1500)


@pytest.mark.parametrize("size", [(60, 30), (4000, 2000)])
def test_a_photo_is_turned_upright(size: tuple[int, int]) -> None:
    tags = Pillow.Exif()
    tags[0x0112] = 6  # the camera was held sideways
    block = image_of(picture("JPEG", *size, exif=tags), Media())
    assert block.width < block.height
    assert Pillow.open(io.BytesIO(base64.b64decode(block.data))).getexif().get(0x0112, 1) == 1


def test_a_damaged_color_profile_is_left_out() -> None:
    whole = picture("PNG", 30, 20)
    profile = (5).to_bytes(4, "big") + b"iCCPwrong" + bytes(4)
    assert base64.b64decode(image_of(whole[:33] + profile + whole[33:], Media()).data) == whole


def test_an_image_of_too_many_bytes_is_compressed() -> None:
    noise = Pillow.effect_noise((1060, 1060), 100)
    out = io.BytesIO()
    Pillow.merge("RGB", [noise, noise.rotate(90), noise.rotate(180)]).save(out, "PNG")
    words = b"teXt" + bytes(2_000_000)
    chunk = (2_000_000).to_bytes(4, "big") + words + zlib.crc32(words).to_bytes(4, "big")
    data = out.getvalue()[:-12] + chunk + out.getvalue()[-12:]
    assert len(data) > MAX_BASE64 // 4 * 3
    assert len(image_of(data, Media()).data) <= MAX_BASE64


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not an image"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not an image"),
        (png(10, 10)[:-20], "cut short"),
        (png(10, 10).replace(b"IDATx\x9c", b"IDATx\x9d"), "damaged"),
        (LARGE.replace(b"IDAT", b"IDAT\0\0", 1), "cut short"),
        (LARGE[:61] + b"x" * 539 + LARGE[600:], "damaged"),
        (png(60_000, 60_000), "60000 x 60000 pixels are too many"),
    ],
)
def test_an_unusable_image_is_refused_in_a_sentence(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        image_of(data, Media())
    assert "\n" not in str(refused.value)


def test_a_model_without_vision_gets_no_image() -> None:
    with pytest.raises(ValueError, match=r"^deepseek-chat can't see images$"):
        image_of(png(10, 10), Media(vision=False, model="deepseek-chat"))


def test_a_pdf_is_a_document_where_the_model_takes_it() -> None:
    data = pdf("one", "two", "three")
    block = document_of(data, PDFS)
    assert block is not None
    assert (base64.b64decode(block.data), block.pages, block.media_type) == (data, 3, "application/pdf")
    assert document_of(data, Media()) is None


def test_a_pdf_that_is_too_long_or_too_large_is_read_as_text() -> None:
    assert document_of(pdf(*["x"] * 101), PDFS) is None
    data = pdf("x")
    assert document_of(data[:9] + b"%" + bytes(MAX_DOCUMENT) + b"\n" + data[9:], PDFS) is None


def test_the_text_of_a_pdf_names_its_pages() -> None:
    assert text_of_pdf(pdf("Hello there", "Good bye")) == "[page 1]\nHello there\n\n[page 2]\nGood bye\n"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"%PDF-1.4", "damaged or cut short"),
        (pdf("one")[:-40], "damaged or cut short"),
        (b"%PDF-1.4\nrubbish\n%%EOF", "damaged"),
        (b"plain", "damaged or cut short"),
    ],
)
def test_a_damaged_pdf_is_refused_in_a_sentence(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        document_of(data, PDFS)
    assert "\n" not in str(refused.value)


def encrypted(password: str) -> bytes:
    """A PDF that this password opens."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf("secret"))))
    writer.encrypt(password, "owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_pdf_that_opens_without_a_password_is_read_as_text() -> None:
    assert document_of(encrypted(""), PDFS) is None
    assert text_of_pdf(encrypted("")) == "[page 1]\nsecret\n"


def test_an_encrypted_pdf_is_refused() -> None:
    with pytest.raises(ValueError, match="encrypted"):
        document_of(encrypted("password"), PDFS)
    with pytest.raises(ValueError, match="encrypted"):
        text_of_pdf(encrypted("password"))
