// SPDX-License-Identifier: Apache-2.0
import { relative, resolve } from "node:path";
import { guardTransport, isNoMatch } from "@purlin/kube-client";
import { isForbidden, isNotFound } from "@purlin/kube-objects/errors";
import { type JsonObject, parseJson, printJson } from "@purlin/kube-objects/json";
import { groupOf, type KubeObject, stringAt } from "@purlin/kube-objects/object";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { ownVersion } from "../command-name.ts";
import { printYaml } from "../files/yaml-file.ts";
import { harmless, harmlessJson } from "../harmless.ts";
import type { Io } from "../io.ts";
import { findManifests, type Manifest, readManifests, skippedLine } from "../manifests/manifest.ts";
import { type CommandInput, isSet, listOption, textOption } from "../options/command-spec.ts";
import { readProjectFile } from "../project/project-file.ts";
import { crdType, definitionType, isCrd, isDefinition } from "../tree/defined-kinds.ts";
import { runOnSaves } from "../up/watch-files.ts";
import { asInput, errorEntry, isUserError, UserError } from "../user-error.ts";
import { type Finding, placeOf } from "./finding.ts";
import { findPackages, type KnownPackage } from "./packages.ts";
import {
  documentOf,
  fieldOf,
  githubError,
  githubLines,
  type Report,
  reportText,
  sarifError,
  sarifOf,
  shownName,
  statusOf,
  summaryOf,
} from "./report.ts";
import { type Judged, validateObjects } from "./validate-objects.ts";

type Print = (report: Report, io: Io) => string | Promise<string>;

const json = (document: object): string => `${harmlessJson(printJson(document, { indent: 2 }))}\n`;

const printers: Readonly<Record<string, Print>> = {
  text: reportText,
  json: (report) => json(documentOf(report)),
  yaml: (report) => printYaml(documentOf(report)),
  github: githubLines,
  sarif: (report) => json(sarifOf(report, ownVersion())),
};

/** What programs read gets the error, too, when a file cannot be read: code hosts show no stderr. */
const errorPrinters: Readonly<Record<string, (error: UserError) => string>> = {
  yaml: (error) => printYaml({ errors: [{ ...errorEntry(error) }] }),
  github: ({ message }) => githubError(message),
  sarif: ({ message }) => json(sarifError(message, ownVersion())),
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
  const once = (): Promise<number> => validateOnce(paths, { input, io, print, printError: errorPrinters[format] });
  return isSet(input, "watch") ? await runOnSaves(paths, io, { run: once, concerns: isRead }) : await once();
}

interface Validation {
  readonly input: CommandInput;
  readonly io: Io;
  readonly print: Print;
  readonly printError: ((error: UserError) => string) | undefined;
}

function pathsOf({ args }: CommandInput, io: Io): readonly string[] {
  if (args.length > 0) return args;
  const { paths = [] } = readProjectFile(io);
  return paths.length > 0 ? paths.map((path) => relative(io.cwd, path) || ".") : ["."];
}

async function validateOnce(paths: readonly string[], { input, io, print, printError }: Validation): Promise<number> {
  const report = await validate(paths, input, io).catch((error: unknown) => {
    if (printError !== undefined && isUserError(error)) io.stdout.write(printError(error));
    throw error;
  });
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
async function validate(paths: readonly string[], input: CommandInput, io: Io): Promise<Report> {
  const isPackage = (path: string): boolean => path.endsWith(".xpkg");
  const onSkipped = (files: readonly string[]): void => void io.stderr.write(`${skippedLine(files)}\n`);
  const read = (from: readonly string[]): Promise<Manifest[]> =>
    from.length === 0
      ? Promise.resolve([])
      : readManifests(from, io, { stdin: true, onSkipped, nameless: true, ignore: isRenderOutput });
  const manifests = await asInput(() => read(paths.filter((path) => !isPackage(path))));
  const old = await asInput(() => read(listOption(input, "old")));
  const sources = { files: paths.filter(isPackage), manifests, isFetching: isSet(input, "fetchPackages") };
  const { packages, missing } = await findPackages(sources, input, io);
  if (manifests.length === 0)
    throw new UserError(`${paths.join(", ")}: no objects found: nothing to validate`, { exitCode: invalidExit });
  const live = isSet(input, "cluster") ? await readCluster(manifests, input, io) : { packages: [], objects: [] };
  const judged = await validateObjects({
    ...{ manifests, packages: [...packages, ...live.packages], signal: io.signal },
    old: [...live.objects, ...old],
  });
  return { judged, missingPackages: missing };
}

/** Results and context, which `purlin render` prints beside objects. */
const isRenderOutput = ({ apiVersion }: JsonObject): boolean => String(apiVersion).startsWith("render.crossplane.io/");

/** What a running control plane has. */
interface Live {
  /** Its kinds and functions, as if they came from packages. */
  readonly packages: readonly KnownPackage[];
  /** The objects as they are, of kinds with rules about changes. */
  readonly objects: readonly Manifest[];
}

async function readCluster(manifests: readonly Manifest[], input: CommandInput, io: Io): Promise<Live> {
  await using cluster = await openCluster(input, io, { transport: guardTransport });
  const packages = await clusterPackages(cluster, io);
  const definitions = [...manifests, ...packages.flatMap((one) => one.manifests)].map(({ object }) => object);
  const kinds = new Set(definitions.filter(hasChangeRules).flatMap(definedKinds));
  const changing = manifests.filter(({ object }) => kinds.has(kindKey(object)));
  const objects = await Promise.all(changing.map(({ object }) => liveObject(object, cluster, io)));
  return { packages, objects: objects.flatMap((object) => object ?? []) };
}

const hasChangeRules = (object: KubeObject): boolean =>
  (isDefinition(object) || isCrd(object)) && /\boldSelf\b/.test(printJson(object));

const kindKey = ({ apiVersion, kind }: Pick<KubeObject, "apiVersion" | "kind">): string =>
  `${groupOf(apiVersion)} ${kind}`;

function definedKinds(definition: KubeObject): string[] {
  const group = stringAt(definition, ["spec", "group"]);
  return ["names", "claimNames"].map((names) => `${group} ${stringAt(definition, ["spec", names, "kind"])}`);
}

/** An object as it is on the server. One that does not exist has no rules about changes, and those of one that may not be read are counted. */
async function liveObject(object: KubeObject, { client, namespace }: Cluster, io: Io): Promise<Manifest | undefined> {
  const { name, namespace: own } = object.metadata;
  if (!name) return undefined;
  try {
    const { namespaced } = await client.mapper.mapping(object);
    const key = { name, namespace: namespaced ? (own ?? namespace) : undefined };
    const { status: _status, ...found } = await client.get(object, key, { signal: io.signal });
    const { labels = {}, annotations = {} } = found.metadata;
    const metadata = { name, ...(own && { namespace: own }), labels, annotations };
    return { object: { ...found, metadata }, file: "the cluster", at: () => "the cluster" };
  } catch (error) {
    if (isNotFound(error) || isNoMatch(error) || isForbidden(error)) return undefined;
    throw error;
  }
}

async function clusterPackages(cluster: Cluster, io: Io): Promise<KnownPackage[]> {
  const { signal } = io;
  const list = async (type: typeof crdType): Promise<Manifest[]> => {
    const { items } = await cluster.client.list(type, { signal }).catch((error: unknown) => {
      // An API server without a control plane has no functions and no XRDs.
      if (isNoMatch(error)) return { items: [] };
      throw error;
    });
    return items.map((object) => ({ object: { ...object, ...type }, file: "the cluster", at: () => "the cluster" }));
  };
  const functions = await list({ apiVersion: "pkg.crossplane.io/v1", kind: "Function" });
  return [
    {
      ...{ name: "cluster", kind: "Configuration", capabilities: [] },
      manifests: [...(await list(crdType)), ...(await list(definitionType))],
    },
    ...functions.map(
      ({ object }): KnownPackage => ({
        ...{ name: object.metadata.name ?? "", kind: "Function", manifests: [], capabilities: [] },
      }),
    ),
  ];
}

const formats = ["text", "json", "yaml"];
/** What Crossplane's command checks; the other checks are those of `purlin validate`. */
const checked: ReadonlySet<Finding["type"]> = new Set(["schema", "unknownField", "cel", "missingSchema"]);

/** `purlin resource validate EXTENSIONS RESOURCES` */
export async function validateResources(input: CommandInput, io: Io): Promise<number> {
  const output = textOption(input, "output") ?? "text";
  if (!formats.includes(output)) {
    throw new UserError(`--output ${output}: expected ${formats.join(", ")}`, { exitCode: 2 });
  }
  const [extensions = [], resources = []] = input.args.map((list) => list.split(",").filter((path) => path !== ""));
  const report = await validate([...extensions, ...resources], input, io);
  const files = new Set((await findManifests(resources, io, { stdin: true })).map((file) => resolve(io.cwd, file)));
  const isResource = ({ manifest }: Judged): boolean => files.has(resolve(io.cwd, manifest.file));
  const judged = report.judged.filter(isResource).map(({ findings, ...one }) => ({
    ...one,
    findings: findings.filter(({ type, level, code }) => checked.has(type) && (level === "error" || code === "V01")),
  }));
  const own: Report = { judged, missingPackages: report.missingPackages };
  const document = (): object => {
    const shown = isSet(input, "skipSuccessResults") ? judged.filter((one) => statusOf(one) !== "valid") : judged;
    return {
      ...documentOf(own),
      resources: (documentOf({ ...own, judged: shown }, entryOf) as { resources: object }).resources,
    };
  };
  warnAboutExtensions(
    report.judged.filter((one) => !isResource(one)),
    io,
  );
  if (output === "json") io.stdout.write(`${harmlessJson(printJson(document(), { indent: 2 }))}\n`);
  else if (output === "yaml") io.stdout.write(printYaml(document()));
  else io.stdout.write(harmless(textOf(own, isSet(input, "skipSuccessResults"))));
  const { invalid, missingSchemas } = summaryOf(own);
  return invalid > 0 || (isSet(input, "errorOnMissingSchemas") && missingSchemas > 0) ? 1 : 0;
}

function textOf(report: Report, skipsValid: boolean): string {
  const { total, valid, invalid, missingSchemas } = summaryOf(report);
  const lines = report.judged.flatMap((one) => linesOf(one, skipsValid));
  const last = `Total ${total} resources: ${missingSchemas} missing schemas, ${valid} success cases, ${invalid} failure cases`;
  return `${[...lines, last].join("\n")}\n`;
}

function linesOf(one: Judged, skipsValid: boolean): string[] {
  const { object } = one.manifest;
  const kind = `${object.apiVersion}, Kind=${object.kind}`;
  const name = shownName(object);
  const status = statusOf(one);
  if (status === "missingSchema") return [`[!] could not find CRD/XRD for: ${kind}`];
  if (status === "valid") return skipsValid ? [] : [`[✓] ${kind}, ${name} validated successfully`];
  return one.findings.map((finding) => {
    const what = finding.type === "cel" ? "CEL validation error" : "schema validation error";
    return `[x] ${what} ${kind}, ${name} : ${messageOf(finding)}`;
  });
}

/** An extension that a server refuses gives no schema: without this, its kind would only seem to be missing. */
function warnAboutExtensions(judged: readonly Judged[], io: Io): void {
  for (const { manifest, findings } of judged) {
    const [first] = findings.filter(({ level }) => level === "error");
    if (first === undefined || (!isCrd(manifest.object) && !isDefinition(manifest.object))) continue;
    const { file, line, column } = placeOf(first);
    const { kind, metadata } = manifest.object;
    io.stderr.write(harmless(`warning: ${file}:${line}:${column}: ${kind}/${metadata.name ?? ""}: ${first.text}\n`));
  }
}

/** A finding with the members of Crossplane's command, and ours beside them. */
function entryOf(finding: Finding): object {
  const { type, level, code, text } = finding;
  const field = fieldOf(finding);
  const message = messageOf(finding);
  const value = badValue(finding, message);
  return {
    type,
    ...(field !== "" && { field }),
    message,
    ...(value !== undefined && { value }),
    ...placeOf(finding),
    level,
    code,
    ...(text !== message && { advice: text }),
  };
}

/** The text of Crossplane's command, which reads every number as a floating-point one. */
function messageOf(finding: Finding): string {
  const { text, type } = finding;
  const field = fieldOf(finding);
  if (type === "missingSchema") return text;
  if (type === "unknownField") {
    const name = JSON.stringify(String(finding.path.at(-1) ?? ""));
    return `${field}: Invalid value: ${name}: unknown field: ${name}`;
  }
  const whole = field === "" || text.startsWith(`${field}:`) ? text : `${field}: ${text}`;
  return whole.replace(
    /Invalid value: "integer": (.* must be of type \S+: )"integer"$/s,
    'Invalid value: "number": $1"number"',
  );
}

const literal =
  /^(?:Invalid|Unsupported|Duplicate) value: ("(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|true|false|null)(?::|$)/s;

/** The value that a message is about, as Crossplane's command has it: of a rule of CEL it keeps an empty object. */
function badValue(finding: Finding, message: string): unknown {
  if (finding.type === "missingSchema") return undefined;
  const rest = message.slice(message.indexOf(": ") + 2);
  if (/^(?:Required value|Forbidden)/.test(rest)) return "";
  if (rest.startsWith("Too long")) return "<value omitted>";
  const many = /^Too many: (\d+)/.exec(rest)?.[1];
  if (many !== undefined) return Number(many);
  const found = literal.exec(rest)?.[1];
  if (found === undefined) return finding.type === "cel" ? {} : undefined;
  try {
    return parseJson(found);
  } catch {
    // Quoted as Go quotes, with escapes that JSON does not have.
    return found.slice(1, -1);
  }
}

/** Whether a file in a watched folder may be one that is validated, or says which are: a log that is written there is none. */
function isRead(path: string): boolean {
  return /\.(ya?ml|json|xpkg|purlinignore)$/.test(path);
}
