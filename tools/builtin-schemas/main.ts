// SPDX-License-Identifier: Apache-2.0
// Generates packages/kube-objects/src/builtin/gen from the OpenAPI documents of a Kubernetes release. See README.md.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildData } from "./build-data.ts";
import { readEnums } from "./enums.ts";
import { goModuleDirectory } from "./go-module.ts";
import { readOriginal } from "./original.ts";
import { renderModule } from "./render.ts";
import { discoveryDocuments, release, servedResources } from "./served.ts";

const target = fileURLToPath(
  new URL("../../packages/kube-objects/src/builtin/gen/builtin-schemas.ts", import.meta.url),
);

function generate(moduleDirectory: string): string {
  const keys = [...Object.keys(servedResources), ...discoveryDocuments()].sort();
  const swagger = JSON.parse(readFileSync(join(moduleDirectory, "api/openapi-spec/swagger.json"), "utf8"));
  const deleteOptions = swagger.definitions["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"];
  const definitions = readFileSync(join(moduleDirectory, "pkg/generated/openapi/zz_generated.openapi.go"), "utf8");
  const data = buildData({
    release,
    documents: Object.fromEntries(keys.map((key) => [key, readOriginal(moduleDirectory, key)])),
    served: servedResources,
    enums: readEnums(definitions),
    deleteOptionsKinds: deleteOptions["x-kubernetes-group-version-kind"],
  });
  return renderModule(data);
}

const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
const moduleDirectory = goModuleDirectory("k8s.io/kubernetes", release);
const text = generate(moduleDirectory);
if (values.check) {
  if (readFileSync(target, "utf8") !== text) {
    console.error(`${target} is not what the tool makes from k8s.io/kubernetes ${release}; run it without --check`);
    process.exit(1);
  }
} else {
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
}
console.log(`${(text.length / 1024).toFixed(0)} KiB of schemas from k8s.io/kubernetes ${release}`);
