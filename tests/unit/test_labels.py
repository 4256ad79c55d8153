"""Labels in the cells of wide tables."""

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


def test_a_cell_of_a_wide_table_has_the_words_and_the_unit_of_its_column_as_text():
    """A cell without a value is marked; a cell that spans columns has no label."""
    head = HEAD.replace("started", "&lt;i&gt; &#34;x&#34;")
    spanning = '<tr><td colspan="3"><code>perfdhcp -4</code></td></tr>'
    page = labelled(f'<table class="dots records">{head}{BODY}{spanning}</table>')
    assert '<td class="moment" data-label="&lt;i&gt; &#34;x&#34;">today</td>' in page
    assert '<td class="figure" data-label="max rate" data-unit="1/s">7</td>' in page
    assert '<th scope="row">v4</th>' in page
    assert page.count("<td data-label=->") == 2
    assert spanning in page


def test_other_tables_are_as_they_were():
    text = f'<table>{HEAD}{BODY}</table><table class="norecords">{HEAD}{BODY}</table>'
    assert labelled(text) == text
