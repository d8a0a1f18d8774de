"""Makes the types of manifests of the CRDs: python make_manifests.py FOLDER_OF_CRDS FILE writes them."""

from __future__ import annotations

import json
import keyword
import re
import sys
from pathlib import Path
from typing import Any

import yaml

HEADER = '''"""Manifests of Ray objects and their Pod templates, as types for editors and checkers. The gateway checks what is required.

Made of the CRDs by make_manifests.py. DO NOT EDIT.
"""

from __future__ import annotations

from typing import {names}

'''

# Names that Kubernetes has for what a field holds, or a field of one type.
NAMES = {
    "template": "PodTemplate",
    "PodTemplate.spec": "PodSpec",
    "PodSpec.securityContext": "PodSecurityContext",
    "hostAliase": "HostAlias",
    "imagePullSecret": "LocalObjectReference",
    "env": "EnvVar",
    "envFrom": "EnvFromSource",
    "valueFrom": "EnvVarSource",
    "livenessProbe": "Probe",
    "postStart": "LifecycleHandler",
    "preference": "NodeSelectorTerm",
    "resources": "ResourceRequirements",
    "metadata": "ObjectMeta",
    "HeadService.spec": "HeadServiceSpec",
    "tl": "IngressTLS",
    "rayClusterSpec": "RayClusterSpec",
    "rayClusterConfig": "RayClusterSpec",
    "jobTemplate": "RayJobSpec",
}
ROOTS = {"rayclusters": "RayClusterSpec", "rayjobs": "RayJobSpec", "rayservices": "RayServiceSpec", "raycronjobs": "RayCronJobSpec"}


class Types:
    """The types that are made, in the order in which they need each other."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self._names: dict[str, str] = {}  # of a type by its members
        self._taken: set[str] = set()

    def of(self, schema: dict[str, Any], field: str, parent: str) -> str:
        """Return the type of a field, and make those that it needs."""
        kind = schema.get("type", "")
        if schema.get("x-kubernetes-int-or-string"):
            return "Union[int, str]"
        if kind == "array":
            return f"list[{self.of(schema['items'], singular(field), parent)}]"
        if kind == "object" and schema.get("properties"):
            return self.made(schema, NAMES.get(f"{parent}.{field}") or NAMES.get(field) or field[0].upper() + field[1:], parent)
        if kind == "object":
            values = schema.get("additionalProperties")
            return f"dict[str, {self.of(values, singular(field), parent) if isinstance(values, dict) else 'Any'}]"
        if schema.get("enum"):
            return f"Literal[{', '.join(repr(each) for each in schema['enum'])}]"
        return {"string": "str", "integer": "int", "boolean": "bool", "number": "float"}.get(kind, "Any")

    def made(self, schema: dict[str, Any], name: str, parent: str) -> str:
        """Return the name of the type of an object. Objects with equal members have one type."""
        qualified = name if not parent or name == parent else f"{parent}{name}"
        members = {field: self.of(below, field, name) for field, below in sorted(schema["properties"].items())}
        key = json.dumps(members)
        if key in self._names:
            return self._names[key]
        if name in self._taken:
            name = qualified
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        self._names[key] = name
        self.text.append(self._functional(name, members) if any(map(keyword.iskeyword, members)) else self._class(name, schema, members))
        return name

    def _class(self, name: str, schema: dict[str, Any], members: dict[str, str]) -> str:
        lines = [f"class {name}(TypedDict, total=False):"]
        if about := sentence(schema):
            lines += [f'    """{about}"""', ""]
        for field, kind in members.items():
            lines.append(f"    {field}: {kind}")
            if about := sentence(schema["properties"][field]):
                lines.append(f'    """{about}"""')
        return "\n".join(lines)

    def _functional(self, name: str, members: dict[str, str]) -> str:
        """Return a type with members that are words of Python."""
        lines = [f'    "{field}": {kind},' for field, kind in members.items()]
        return "\n".join([f"{name} = TypedDict(", f'    "{name}",', "    {", *("    " + line for line in lines), "    },", "    total=False,", ")"])


def singular(field: str) -> str:
    if field.endswith("ies"):
        return field[:-3] + "y"
    return field if not field.endswith("s") or field.endswith("ss") else field[:-1]


def sentence(schema: dict[str, Any]) -> str:
    about = " ".join(schema.get("description", "").split()).replace("\\", "").replace('"', "'")
    return about if len(about) <= 200 else about[: about.rfind(". ", 0, 200) + 1]


def main() -> None:
    folder, into = map(Path, sys.argv[1:])
    types = Types()
    for resource, name in ROOTS.items():
        crd = yaml.load((folder / f"ray.io_{resource}.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        (version,) = (each for each in crd["spec"]["versions"] if each["name"] == "v1")
        types.made(version["schema"]["openAPIV3Schema"]["properties"]["spec"], name, "")
    text = "\n\n\n".join(types.text)
    names = [name for name in ("Any", "Literal", "TypedDict", "Union") if re.search(rf"\b{name}[\[(,\]]", text)]
    into.write_text(HEADER.format(names=", ".join(names)) + "\n" + text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
