// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  type ImageConfig,
  type PackageContents,
  parseImageConfig,
  parsePackage,
  readPackageText,
  runtimeLabel,
} from "@purlin/oci";
import { printYaml } from "../files/yaml-file.ts";
import { harmlessJson, harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { readOutput } from "../options/data-output.ts";
import { formatTable } from "../terminal/screen.ts";
import { type OpenedImage, openFileOrImage, sizeText } from "./open-package.ts";
import { inWorkspace, platformOption } from "./xpkg-workspace.ts";

/** What a package is, for programs. */
export interface Inspected {
  readonly digest: string;
  readonly platforms: readonly string[];
  readonly package: {
    readonly kind: string;
    readonly name: string;
    readonly capabilities: readonly string[];
    readonly crossplane?: string;
    readonly dependencies: PackageContents["meta"]["dependencies"];
  };
  readonly objects: readonly { readonly apiVersion: string; readonly kind: string; readonly name: string }[];
  /** What should not be in a package of this kind. */
  readonly findings: readonly string[];
  readonly layers: readonly { digest: string; size: number; mediaType: string; xpkg?: string }[];
  readonly process: ImageConfig["process"];
  /** `node`: it runs on the Node of the control plane. */
  readonly runtime?: string;
}

/** `purlin xpkg inspect PACKAGE` */
export function run(input: CommandInput, io: Io): Promise<undefined> {
  const print = printers[readOutput(input, ["text", "json", "yaml"])] ?? inspectText;
  return inWorkspace(input, io, async (workspace) => {
    const [name = ""] = input.args;
    const { store } = workspace;
    const image = await openFileOrImage(name, io, { platform: platformOption(input), workspace, onlyPackage: true });
    const text = await readPackageText(image.manifest, store, name);
    const contents = await parsePackage(text, `${name}: package.yaml`);
    const config = parseImageConfig(await store.read(image.manifest.config), name);
    io.stdout.write(print(inspected(image, contents, config)));
    return undefined;
  });
}

const printers: Readonly<Record<string, (found: Inspected) => string>> = {
  text: inspectText,
  json: (found) => `${harmlessJson(JSON.stringify(found, undefined, 2))}\n`,
  yaml: (found) => printYaml(found),
};

function inspected(
  { digest, platforms, manifest }: OpenedImage,
  contents: PackageContents,
  config: ImageConfig,
): Inspected {
  const { kind, name, capabilities, crossplaneConstraint, dependencies } = contents.meta;
  const runtime = config.labels[runtimeLabel];
  return {
    digest,
    platforms,
    package: {
      kind,
      name,
      capabilities,
      ...(crossplaneConstraint !== undefined && { crossplane: crossplaneConstraint }),
      dependencies,
    },
    objects: contents.objects.map(identity),
    findings: contents.findings,
    layers: manifest.layers.map(({ digest: layer, size, mediaType, annotations }) => {
      const mark = annotations?.["io.crossplane.xpkg"];
      return { digest: layer, size, mediaType, ...(mark !== undefined && { xpkg: mark }) };
    }),
    process: config.process,
    ...(runtime !== undefined && { runtime }),
  };
}

function identity({ apiVersion, kind, metadata }: JsonObject): Inspected["objects"][number] {
  const { name } = (metadata ?? {}) as { name?: unknown };
  return { apiVersion: String(apiVersion), kind: String(kind), name: typeof name === "string" ? name : "" };
}

/** What a package is, for people: what it says of itself is shown without effects on the terminal. */
function inspectText(found: Inspected): string {
  const { package: meta, objects, layers, findings } = found;
  const rows = [
    ["Package:", `${meta.kind} ${meta.name}`],
    ["Digest:", found.digest],
    ["Platforms:", found.platforms.join(", ")],
    ["Capabilities:", meta.capabilities.join(", ") || "none"],
    ["Crossplane:", meta.crossplane ?? "any version"],
    ["Runs:", runsText(found)],
  ];
  const parts = [
    formatTable(rows.map((row) => row.map(harmlessLine))),
    list(
      "Depends on",
      meta.dependencies.map(({ kind, source, constraint }) => [kind, source, constraint]),
    ),
    list(
      "Objects",
      objects.map(({ kind, apiVersion, name }) => [kind, name, apiVersion]),
    ),
    list(
      "Does not belong here",
      findings.map((finding) => [finding]),
    ),
    list(
      "Layers",
      layers.map(({ digest, size, xpkg }) => [digest, sizeText(size), layerUse(xpkg)]),
    ),
  ];
  return `${parts.filter((part) => part !== "").join("\n")}\n`;
}

function runsText({ process, runtime }: Inspected): string {
  const words = [...process.entrypoint, ...process.cmd];
  if (words.length === 0) return "nothing";
  const user = process.user === "" ? "" : ` as user ${process.user}`;
  return `${words.join(" ")}${user}${runtime === "node" ? ", on Purlin's own Node" : ""}`;
}

function layerUse(mark: string | undefined): string {
  if (mark === "base") return "package";
  return mark === "upbound" ? "examples" : (mark ?? "");
}

function list(title: string, rows: readonly (readonly string[])[]): string {
  return rows.length === 0
    ? ""
    : `${title}:\n${formatTable(rows.map((row) => row.map(harmlessLine)).map(([first = "", ...rest]) => [`  ${first}`, ...rest]))}`;
}
