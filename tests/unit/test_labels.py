"""Labels in the cells of wide tables."""

import pytest

from leaselab.report.site.labels import labelled

HEAD = (
    '<thead><tr><th scope="col">started</th><th scope="col">scenario</th>'
    '<th scope="col" class="figure">max <b>rate</b> <span class="note">1/s</span></th>'
    "</tr></thead>"
)
BODY = (
    '<tbody><tr><td class="moment">today</td><th scope="row">v4</th><td class="figure">7</td>'
    "</tr>"
    '<tr><td>-</td><th scope="row">v6</th><td>-\n</td></tr></tbody>'
)


@pytest.mark.parametrize("kind", ["records", "dots records"])
def test_a_cell_has_the_words_and_the_unit_of_its_column(kind):
    page = labelled(f'<table class="{kind}">{HEAD}{BODY}</table>')
    assert '<td class="moment" data-label="started">today</td>' in page
    assert '<td class="figure" data-label="max rate" data-unit="1/s">7</td>' in page
    assert '<th scope="row">v4</th>' in page
    assert page.count("<td data-label=->") == 2, "a cell without a value"


def test_words_of_a_heading_stay_text_in_the_attribute():
    head = HEAD.replace("started", "&lt;i&gt; &#34;x&#34;")
    page = labelled(f'<table class="records">{head}{BODY}</table>')
    assert 'data-label="&lt;i&gt; &#34;x&#34;"' in page


def test_cells_of_other_tables_and_those_that_span_columns_are_as_they_were():
    cell = '<td colspan="3"><code>perfdhcp -4</code></td>'
    assert cell in labelled(f'<table class="records">{HEAD}<tbody><tr>{cell}</tr></table>')
    text = f'<table>{HEAD}{BODY}</table><table class="norecords">{HEAD}{BODY}</table>'
    assert labelled(text) == text
