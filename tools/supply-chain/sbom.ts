// SPDX-License-Identifier: Apache-2.0
// The software bill of materials in CycloneDX 1.6, from the lock file alone: `node tools/supply-chain/sbom.ts [FILE]` writes it
// (default: dist/sbom.cdx.json). The same lock file gives the same bytes.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import {
  fetchedPackages,
  type LockedPackage,
  type LockFile,
  packageName,
  readLockFile,
  resolvePath,
} from "./lock-file.ts";

/** A package in the bill. */
export interface Component {
  readonly type: "library";
  readonly "bom-ref": string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly scope: "required" | "optional" | "excluded";
  readonly hashes?: readonly { readonly alg: "SHA-512"; readonly content: string }[];
  readonly licenses: readonly { readonly expression: string }[];
  readonly purl: string;
}

/** The bill. */
export interface Bom {
  readonly bomFormat: "CycloneDX";
  readonly specVersion: "1.6";
  readonly serialNumber: string;
  readonly version: 1;
  readonly metadata: object;
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** Makes the bill of a lock file. */
export function createBom(lock: LockFile, root: { readonly name: string; readonly version: string }): Bom {
  const rootRef = `${root.name}@${root.version}`;
  const entries = Object.entries(lock).filter(([, { link = false }]) => !link);
  const components = fetchedPackages(lock).map(([path, locked]) => componentOf(path, locked));
  const unique = [...new Map(components.map((component) => [component["bom-ref"], component])).values()];
  const dependencies = entries.map(([path, locked]) => ({
    ref: refOf(path, locked, rootRef),
    dependsOn: dependsOn(lock, path, rootRef),
  }));
  const content = {
    metadata: {
      tools: { components: [{ type: "application", name: "tools/supply-chain/sbom.ts" }] },
      component: { type: "application", "bom-ref": rootRef, ...root, licenses: [{ expression: "Apache-2.0" }] },
    },
    components: unique.sort(byRef((one) => one["bom-ref"])),
    dependencies: mergeByRef(dependencies).sort(byRef((one) => one.ref)),
  };
  return { bomFormat: "CycloneDX", specVersion: "1.6", serialNumber: serialOf(content), version: 1, ...content };
}

function componentOf(path: string, locked: LockedPackage): Component {
  const full = packageName(path);
  const [group, name = full] = full.startsWith("@") ? full.split("/") : [undefined, full];
  const version = locked.version ?? "";
  const digest = locked.integrity?.replace(/^sha512-/, "");
  return {
    type: "library",
    "bom-ref": `${full}@${version}`,
    ...(group !== undefined && { group }),
    name,
    version,
    scope: locked.dev === true ? "excluded" : locked.optional === true ? "optional" : "required",
    ...(digest !== undefined && {
      hashes: [{ alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") }],
    }),
    licenses: [{ expression: locked.license ?? "NOASSERTION" }],
    purl: `pkg:npm/${full.replace("@", "%40")}@${version}`,
  };
}

function refOf(path: string, { version = "" }: LockedPackage, rootRef: string): string {
  if (path === "") return rootRef;
  return path.includes("node_modules/") ? `${packageName(path)}@${version}` : `${path}@${version}`;
}

function dependsOn(lock: LockFile, path: string, rootRef: string): string[] {
  const { dependencies = {}, optionalDependencies = {} } = lock[path] ?? {};
  const refs = Object.keys({ ...dependencies, ...optionalDependencies }).flatMap((name) => {
    const found = resolvePath(lock, path, name);
    const target = found === undefined ? undefined : lock[found];
    if (found === undefined || target === undefined) return [];
    // A workspace package stands in node_modules as a link to its folder.
    const folder = target.link === true ? (target.resolved ?? "") : found;
    return [refOf(folder, lock[folder] ?? {}, rootRef)];
  });
  return [...new Set(refs)].sort();
}

type Dependency = { readonly ref: string; readonly dependsOn: readonly string[] };

/** The same version of a package may lie in several folders. */
function mergeByRef(dependencies: readonly Dependency[]): Dependency[] {
  const groups = Map.groupBy(dependencies, ({ ref }) => ref);
  return [...groups].map(([ref, same]) => ({
    ref,
    dependsOn: [...new Set(same.flatMap((one) => one.dependsOn))].sort(),
  }));
}

const byRef =
  <T>(refOfItem: (item: T) => string) =>
  (a: T, b: T): number =>
    refOfItem(a) < refOfItem(b) ? -1 : 1;

/** A UUID of the content: the same bill has the same number. */
function serialOf(content: object): string {
  const hex = createHash("sha256").update(JSON.stringify(content)).digest("hex");
  const variant = ((Number.parseInt(hex[16] ?? "0", 16) & 0x3) | 0x8).toString(16);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `${variant}${hex.slice(17, 20)}`];
  return `urn:uuid:${[...parts, hex.slice(20, 32)].join("-")}`;
}

/** The name and the version of the repository. */
export function rootPackage(): { readonly name: string; readonly version: string } {
  const path = new URL("../../package.json", import.meta.url);
  const { name, version } = JSON.parse(readFileSync(path, "utf8")) as {
    readonly name: string;
    readonly version: string;
  };
  return { name, version };
}

if (import.meta.main) {
  const file = process.argv[2] ?? "dist/sbom.cdx.json";
  const bom = createBom(readLockFile(), rootPackage());
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(bom, undefined, 2)}\n`);
  console.log(`${file}: ${bom.components.length} components`);
}
