"""The bill of materials, an SPDX 2.3 document in JSON."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping

from tilewright.packages.layout import LICENCES
from tilewright.packages.naming import PackageSpec

FILE = "sbom.spdx.json"
_OWN_LICENCE = re.compile(r"LicenseRef-[0-9A-Za-z.-]+")
_CREATED = "1980-01-01T00:00:00Z"  # that of every file in the package: equal contents give equal documents


def write_sbom(spec: PackageSpec, files: Mapping[str, bytes], tools: Mapping[str, str], maker: str) -> bytes:
    """The document about `files` by path and the `tools` by name that made them; `maker` is this program's version."""
    sums = {path: hashlib.sha1(data, usedforsecurity=False).hexdigest() for path, data in files.items()}
    verification = hashlib.sha1("".join(sorted(sums.values())).encode(), usedforsecurity=False).hexdigest()
    licence = spec.licence or "NOASSERTION"
    own = [
        {"licenseId": name, "extractedText": f"The text of {name}, where it is given, stands in {LICENCES}/."}
        for name in sorted(set(_OWN_LICENCE.findall(licence)))
    ]
    package = {
        "SPDXID": "SPDXRef-Package",
        "name": spec.identifier,
        "versionInfo": spec.version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": True,
        "packageVerificationCode": {"packageVerificationCodeValue": verification},
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
    }
    made_by = [
        {
            "SPDXID": f"SPDXRef-Tool-{re.sub(r'[^A-Za-z0-9.-]', '-', name)}",
            "name": name,
            "versionInfo": " ".join(identity.split()),
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION",
        }
        for name, identity in sorted(tools.items())
    ]
    listed = [
        {
            "SPDXID": f"SPDXRef-File-{number}",
            "fileName": f"./{path}",
            "checksums": [
                {"algorithm": "SHA1", "checksumValue": sums[path]},
                {"algorithm": "SHA256", "checksumValue": hashlib.sha256(files[path]).hexdigest()},
            ],
            "licenseConcluded": "NOASSERTION",
            "copyrightText": "NOASSERTION",
        }
        for number, path in enumerate(sorted(files))
    ]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Package")]
    relations += [("SPDXRef-Package", "CONTAINS", str(each["SPDXID"])) for each in listed]
    relations += [(str(each["SPDXID"]), "BUILD_TOOL_OF", "SPDXRef-Package") for each in made_by]
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{spec.identifier}-{spec.version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/{spec.identifier}-{spec.version}-{verification}",
        "creationInfo": {"created": _CREATED, "creators": [f"Tool: tilewright-{maker}"]},
        "packages": [package, *made_by],
        "files": listed,
        **({"hasExtractedLicensingInfos": own} if own else {}),
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relations
        ],
    }
    return json.dumps(document, indent=2).encode() + b"\n"
