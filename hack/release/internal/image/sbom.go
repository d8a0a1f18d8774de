package image

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
)

const (
	noAssertion = "NOASSERTION"
	license     = "Apache-2.0"
)

// bill lists the modules of a program, from the build information that the Go linker has written into it.
func bill(binary string, p Program, o Options, platform v1.Platform) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("reading what %s is made of: %w", p.Name, err)
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	name := fmt.Sprintf("%s-%s-%s-%s", p.Name, o.Version, platform.OS, platform.Architecture)
	doc := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: name,
		DocumentNamespace: "https://github.com/raygate/raygate/spdx/" + name + "-" + sum,
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Organization", Creator: "raygate"}}, Created: o.Created.UTC().Format(time.RFC3339),
		},
	}
	main := module("Package-main", info.Main.Path, o.Version)
	main.PackageLicenseDeclared, main.PackageLicenseConcluded, main.PrimaryPackagePurpose = license, license, "APPLICATION"
	main.PackageFileName = p.Name
	main.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: sum}}
	doc.Packages = append(doc.Packages, main)
	doc.Relationships = append(doc.Relationships, related("DOCUMENT", common.TypeRelationshipDescribe, main))
	parts := []*spdx.Package{module("Package-stdlib", "stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
	for i, dep := range info.Deps {
		parts = append(parts, dependency(fmt.Sprintf("Package-%d", i), dep))
	}
	for _, part := range parts {
		doc.Packages = append(doc.Packages, part)
		doc.Relationships = append(doc.Relationships, related(main.PackageSPDXIdentifier, common.TypeRelationshipDependsOn, part))
	}
	var out bytes.Buffer
	if err := spdxjson.Write(doc, &out, spdxjson.Indent("  ")); err != nil {
		return nil, fmt.Errorf("writing what %s is made of: %w", p.Name, err)
	}
	return out.Bytes(), nil
}

func dependency(id string, m *debug.Module) *spdx.Package {
	if m.Replace != nil {
		m = m.Replace
	}
	p := module(id, m.Path, m.Version)
	if m.Sum != "" {
		p.PackageSourceInfo = "go.sum " + m.Sum
	}
	return p
}

func module(id, path, version string) *spdx.Package {
	return &spdx.Package{
		PackageName: path, PackageSPDXIdentifier: common.ElementID(id), PackageVersion: version,
		PackageDownloadLocation: noAssertion, PackageLicenseConcluded: noAssertion, PackageLicenseDeclared: noAssertion, PackageCopyrightText: noAssertion,
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B"),
		}},
	}
}

func related(from common.ElementID, how string, to *spdx.Package) *spdx.Relationship {
	return &spdx.Relationship{RefA: common.MakeDocElementID("", string(from)), RefB: common.MakeDocElementID("", string(to.PackageSPDXIdentifier)), Relationship: how}
}
