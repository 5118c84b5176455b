"""PDF files for tests, written by hand: one line of text a page."""


def pdf(*pages: str) -> bytes:
    """A PDF with these pages; their text is plain ASCII without brackets."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, text in enumerate(pages):
        stream = f"BT /F1 24 Tf 72 700 Td ({text}) Tj ET"
        font, content = "/Resources<</Font<</F1 3 0 R>>>>", f"/Contents {5 + 2 * number} 0 R"
        objects.append(f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]{font}{content}>>")
        objects.append(f"<</Length {len(stream)}>>\nstream\n{stream}\nendstream")
    data, places = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    count = len(objects) + 1
    trailer = f"trailer\n<</Size {count}/Root 1 0 R>>\nstartxref\n{len(data)}\n%%EOF\n"
    return data + f"xref\n0 {count}\n0000000000 65535 f \n{table}{trailer}".encode()
