// SPDX-License-Identifier: Apache-2.0
// Provider packages that do not depend on Purlin, built by the command as its users would.
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { debianRoot, debianRootsIn } from "../../../tools/peers/debian-root.ts";
import { kopf } from "../../../tools/peers/kopf.ts";
import { goController, goControllerIn } from "../../../tools/peers/kube-clients.ts";
import { installed } from "../../../tools/peers/peer.ts";
import { purlin } from "../packages/embedded-plane.ts";
import { buildPackage, type Workshop } from "../packages/function-packages.ts";

const programs = join(import.meta.dirname, "programs");

/** A Provider package to build. */
interface ProviderWish {
  readonly name: string;
  readonly version: string;
  /** The objects of the package. */
  readonly objects: readonly object[];
  readonly root: string;
  readonly base?: string;
  readonly entrypoint: readonly string[];
}

/** Builds a package and returns its file. */
async function buildProvider({ directory }: Workshop, wish: ProviderWish): Promise<string> {
  const { name, version, objects, root, base, entrypoint } = wish;
  const meta = join(directory, `${name}-${version}-meta`);
  mkdirSync(join(meta, "crds"), { recursive: true });
  writeFileSync(
    join(meta, "crossplane.yaml"),
    `apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: ${name}}\n`,
  );
  for (const [at, object] of objects.entries()) {
    writeFileSync(join(meta, "crds", `${at}.yaml`), JSON.stringify(object));
  }
  const file = join(directory, `${name}-${version}.xpkg`);
  const below = base === undefined ? [] : ["--base", base];
  const program = ["--root", root, ...below, "--entrypoint", JSON.stringify(entrypoint)];
  await purlin("xpkg", "build", "-f", meta, ...program, "--skip-start", "-o", file);
  return file;
}

/** A CRD of one version whose objects have a status. */
export function crd(group: string, kind: string, properties: object = {}): object {
  const plural = `${kind.toLowerCase()}s`;
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const openAPIV3Schema = { type: "object", properties: { spec: { ...open, properties }, status: open } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [
        { name: "v1", served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema } },
      ],
    },
  };
}

/** As many more CRDs as a large Provider has, with the texts of its documentation. */
export function bulkyCrds(group: string, count: number, characters: number): readonly object[] {
  const description = "Documentation of a field, as generated schemas have it. ".repeat(Math.ceil(characters / 56));
  return Array.from({ length: count }, (_, at) => crd(group, `Bulk${at}`, { text: { type: "string", description } }));
}

const fleets = "harbour.example.org";

/** The webhook of the Provider in Go, as its package declares it. */
export const fleetWebhook: { readonly [name: string]: unknown } = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: "fleets" },
  webhooks: [
    {
      name: `fleets.${fleets}`,
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      failurePolicy: "Fail",
      rules: [{ apiGroups: [fleets], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["fleets"] }],
      clientConfig: { service: { name: "", namespace: "", path: "/validate-fleet" } },
    },
  ],
};

/** What is special about a version of the Provider in Go. */
interface GoProvider {
  readonly name?: string;
  readonly version?: string;
  readonly words?: readonly string[];
  /** The objects of the package; those of the Provider, and a webhook, unless given. */
  readonly objects?: readonly object[];
}

const fleetCrd = crd(fleets, "Fleet", { ships: { type: "integer" }, colour: { type: "string", default: "blue" } });

/** What the package of the Provider in Go installs. */
export const fleetObjects: readonly object[] = [fleetCrd, fleetWebhook];

/** The Provider on controller-runtime: one program and nothing else. */
export function goProvider(workshop: Workshop, wish: GoProvider = {}): Promise<string> {
  const { name = "provider-fleet", version = "v1", words = [], objects = fleetObjects } = wish;
  const root = join(workshop.directory, "go-provider");
  if (!existsSync(root)) {
    mkdirSync(root);
    cpSync(goControllerIn(installed(goController, cacheDirectory)), join(root, "provider"));
  }
  const entrypoint = ["/provider", `-version=${version}`, ...words];
  return buildProvider(workshop, { name, version, objects, root, entrypoint });
}

/** The Provider on kopf, on Debian. */
export function pythonProvider(workshop: Workshop): Promise<string> {
  const { base } = debianRootsIn(installed(debianRoot, cacheDirectory));
  const root = join(workshop.directory, "python-provider");
  cpSync(join(installed(kopf, cacheDirectory), "provider"), join(root, "provider"), { recursive: true });
  cpSync(join(programs, "garden.py"), join(root, "provider", "garden.py"));
  const objects = [crd("gardens.example.org", "Garden", { trees: { type: "integer" } })];
  const entrypoint = ["python3", "/provider/garden.py"];
  return buildProvider(workshop, { name: "provider-garden", version: "v1", objects, root, base, entrypoint });
}

/** The project of the Provider of the examples, on the provider kit. */
export const kitProject: string = join(import.meta.dirname, "..", "..", "..", "examples", "provider");

/** Builds it. */
export async function kitProvider({ directory }: Workshop): Promise<string> {
  const file = join(directory, "provider-files.xpkg");
  await purlin("xpkg", "build", "-f", join(kitProject, "package"), "-o", file);
  return file;
}

/** A Provider on the kit that serves its health at a port, with further objects in its package. */
export async function kitProviderAt(
  { directory }: Workshop,
  { name, kind, port, objects = [] }: { name: string; kind: string; port: number; objects?: readonly object[] },
): Promise<string> {
  const project = join(directory, name);
  mkdirSync(join(project, "package"), { recursive: true });
  mkdirSync(join(project, "src"));
  const type = { apiVersion: `${kind.toLowerCase()}s.example.org/v1alpha1`, kind };
  const sdk = join(import.meta.dirname, "..", "..", "..", "packages", "provider-sdk", "src", "index.ts");
  writeFileSync(
    join(project, "src", "main.ts"),
    `import { tmpdir } from "node:os";
import { runProvider } from ${JSON.stringify(sdk)};
import { fileResource } from ${JSON.stringify(join(kitProject, "src", "file.ts"))};
const resource = { ...fileResource(tmpdir()), type: ${JSON.stringify(type)} };
await runProvider({ name: ${JSON.stringify(name)}, resources: [resource], argv: [...process.argv.slice(2), "--health-port=${port}"] });
`,
  );
  const meta = `apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: ${name}}\n`;
  writeFileSync(join(project, "package", "crossplane.yaml"), `${meta}spec: {capabilities: [safe-start]}\n`);
  for (const [at, object] of objects.entries()) {
    writeFileSync(join(project, "package", `${at}.yaml`), JSON.stringify(object));
  }
  writeFileSync(join(project, "package.json"), '{"type": "module"}');
  const file = join(directory, `${name}.xpkg`);
  await purlin("xpkg", "build", "-f", join(project, "package"), "-o", file);
  return file;
}

/** The function that composes for all of them. */
export function estateFunction(workshop: Workshop): Promise<string> {
  return buildPackage(workshop, { name: "function-estate", options: ["--function", join(programs, "estate.ts")] });
}
