"""Users' own configurations: the examples, refusals, and scenarios that are made of them."""

import json
import shutil
from pathlib import Path

from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.roles import resolved
from leaselab.inputs.user_configuration import add_scenario, read_served
from leaselab.measure.generators import check_fits

DATA = Path(__file__).parent / "data/own"


def clients_of(own, folder):
    """Words of leaseload: the clients of a configuration, by a file that it makes."""
    population = folder / "population.json"
    population.write_text(json.dumps({"kinds": own.kinds}), encoding="utf-8")
    return ["--population", population]


def catalogue_in(folder):
    """A catalogue of its own, with copies of all scenarios, in a folder."""
    shutil.copytree(DATA.parents[2] / "scenarios", folder / "scenarios")
    return Catalogue(folder)


def measurable(file, catalogue):
    """The scenario of a file, which the lab can measure."""
    scenario = resolved(add_scenario(read_served(file), file, catalogue), "here")
    check_fits(scenario, catalogue.procedure_of(scenario, {}))
    return scenario
