// SPDX-License-Identifier: Apache-2.0
import { relative } from "node:path";
import { type JsonObject, printJson } from "@purlin/kube-objects/json";
import { openCluster } from "../cluster/cluster-client.ts";
import { ownVersion } from "../command-name.ts";
import { printYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { type Manifest, readManifests, skippedLine } from "../manifests/manifest.ts";
import { type CommandInput, isSet, listOption, textOption } from "../options/command-spec.ts";
import { readProjectFile } from "../project/project-file.ts";
import { harmlessJson } from "../terminal/harmless.ts";
import { crdType, definitionType } from "../tree/defined-kinds.ts";
import { runOnSaves } from "../up/watch-files.ts";
import { isUserError, UserError } from "../user-error.ts";

import type { Finding } from "./finding.ts";
import { findPackages, type KnownPackage } from "./packages.ts";
import { documentOf, githubLines, type Report, reportText, sarifOf, summaryOf } from "./report.ts";
import { validateObjects } from "./validate-objects.ts";

type Print = (report: Report, io: Io) => string | Promise<string>;

const json = (document: object): string => `${harmlessJson(printJson(document, { indent: 2 }))}\n`;

const printers: Readonly<Record<string, Print>> = {
  text: reportText,
  json: (report) => json(documentOf(report)),
  yaml: (report) => printYaml(documentOf(report)),
  github: githubLines,
  sarif: (report) => json(sarifOf(report, ownVersion())),
};

/** The exit code when something that was given is wrong. */
const invalidExit = 2;

/** `purlin validate PATH…` */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const format = textOption(input, "output") ?? "text";
  const print = printers[format];
  if (print === undefined) {
    throw new UserError(`--output ${format}: expected ${Object.keys(printers).join(", ")}`, { exitCode: 2 });
  }
  const paths = pathsOf(input, io);
  if (isSet(input, "watch"))
    return await runOnSaves(paths, io, { run: () => validateOnce(paths, { input, io, print }) });
  return await validateOnce(paths, { input, io, print });
}

interface Validation {
  readonly input: CommandInput;
  readonly io: Io;
  readonly print: Print;
}

function pathsOf({ args }: CommandInput, io: Io): readonly string[] {
  if (args.length > 0) return args;
  const { paths = [] } = readProjectFile(io);
  return paths.length > 0 ? paths.map((path) => relative(io.cwd, path) || ".") : ["."];
}

async function validateOnce(paths: readonly string[], { input, io, print }: Validation): Promise<number> {
  const report = await validate(paths, input, io);
  const judged = isSet(input, "strict")
    ? report.judged.map((one) => ({ ...one, findings: one.findings.map(strictly) }))
    : report.judged;
  const final = { ...report, judged };
  io.stdout.write(await print(final, io));
  const isMissing = isSet(input, "strict") && report.missingPackages.length > 0;
  return summaryOf(final).errors > 0 || isMissing ? invalidExit : 0;
}

const strictly = (finding: Finding): Finding => ({ ...finding, level: "error" });

/** Validates the objects of paths, with packages and old objects as the command line says. */
export async function validate(paths: readonly string[], input: CommandInput, io: Io): Promise<Report> {
  const isPackage = (path: string): boolean => path.endsWith(".xpkg");
  const onSkipped = (files: readonly string[]): void => void io.stderr.write(`${skippedLine(files)}\n`);
  const read = (from: readonly string[]): Promise<Manifest[]> =>
    from.length === 0
      ? Promise.resolve([])
      : readManifests(from, io, { stdin: true, onSkipped, nameless: true, ignore: isRenderOutput });
  const manifests = await asInvalid(() => read(paths.filter((path) => !isPackage(path))));
  if (manifests.length === 0)
    throw new UserError(`${paths.join(", ")}: no objects found: nothing to validate`, { exitCode: invalidExit });
  const old = await asInvalid(() => read(listOption(input, "old")));
  const sources = { files: paths.filter(isPackage), manifests, isFetching: isSet(input, "fetchPackages") };
  const { packages, missing } = await findPackages(sources, input, io);
  const live = isSet(input, "cluster") ? await clusterPackages(input, io) : [];
  const judged = await validateObjects({ manifests, packages: [...packages, ...live], old, signal: io.signal });
  return { judged, missingPackages: missing };
}

/** Results and context, which `purlin render` prints beside objects. */
const isRenderOutput = ({ apiVersion }: JsonObject): boolean => String(apiVersion).startsWith("render.crossplane.io/");

/** A file that cannot be parsed is as wrong as an object that fails its schema. */
async function asInvalid<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isUserError(error)) throw error;
    throw new UserError(error.message, { cause: error, exitCode: invalidExit });
  }
}

/** What a running control plane offers, as if it came from packages. */
async function clusterPackages(input: CommandInput, io: Io): Promise<KnownPackage[]> {
  await using cluster = await openCluster(input, io);
  const { signal } = io;
  const list = async (type: typeof crdType): Promise<Manifest[]> => {
    const { items } = await cluster.client.list(type, { signal });
    return items.map((object) => ({ object: { ...object, ...type }, file: "the cluster", at: () => "the cluster" }));
  };
  const functions = await list({ apiVersion: "pkg.crossplane.io/v1", kind: "Function" });
  return [
    { name: "cluster", kind: "Configuration", manifests: [...(await list(crdType)), ...(await list(definitionType))] },
    ...functions.map(
      ({ object }): KnownPackage => ({ name: object.metadata.name ?? "", kind: "Function", manifests: [] }),
    ),
  ];
}
