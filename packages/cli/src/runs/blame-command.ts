// SPDX-License-Identifier: Apache-2.0

import { crossplaneAnnotations } from "@purlin/composition";
import { referencesOf } from "@purlin/explain";
import type { KubeReader } from "@purlin/kube-client";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  parseJson,
  printJson,
} from "@purlin/kube-objects/json";
import { annotationOf, type KubeObject, type ManagedFieldsEntry } from "@purlin/kube-objects/object";
import {
  type BlamedField,
  blame,
  blameAt,
  childrenOf,
  desiredObjects,
  lastCall,
  leavesOf,
  type Run,
  type RunSummary,
} from "@purlin/run-store";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { jsonText, readOutput } from "../options/data-output.ts";
import { formatTable } from "../terminal/screen.ts";
import { UserError } from "../user-error.ts";
import { openRuns, type RunsSource } from "./runs-source.ts";
import { revisionText, shortJson } from "./show-command.ts";

/** A field, the step that set it, and the first run of which that is known. */
interface Blame extends BlamedField {
  readonly since: string;
}

/** `purlin runs blame TYPE/NAME [RESOURCE] [PATH]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const output = readOutput(input, ["table", "json"]);
  const [xr = "", resource, path] = input.args;
  await using runs = await openRuns(input, io);
  const history = await composedRuns(runs, xr, textOption(input, "run"));
  const [latest] = history;
  if (latest === undefined) throw new UserError(`no recorded run of ${xr} has a desired state`);
  const found = await runs.get(latest.id);
  const fields = await withSince(blame(found, { resource, path }), { runs, history, latest: found });
  if (fields.length === 0) throw new UserError(nothingAt(found, resource, path));
  const live = isSet(input, "live") ? await liveOf(runs, found, { resource, path, io }) : [];
  if (output === "json") {
    io.stdout.write(jsonText({ run: found.id, fields, live }));
    return;
  }
  io.stdout.write(`${formatTable([columns, ...fields.map(rowOf), ...live.map(liveRow)])}\n`);
}

const columns = ["RESOURCE", "PATH", "VALUE", "STEP", "FUNCTION", "REVISION", "SINCE", "OVERWROTE"];

function rowOf({ resource, path, value, step, function: fn, revision, since, overwrote }: Blame): string[] {
  const before = overwrote.map((one) => `${one.step}: ${one.value === undefined ? "removed" : shortValue(one.value)}`);
  const cells = [
    resource,
    path || ".",
    shortValue(value),
    step,
    fn,
    revisionText(revision),
    since,
    before.join(", ") || "-",
  ];
  return cells.map(harmlessLine);
}

function liveRow({ resource, path, value, owner, desired }: LiveField): string[] {
  const differs = desired === undefined ? "-" : `desired: ${shortValue(desired)}`;
  return [resource, path, shortValue(value), `(${owner})`, "-", "-", "-", differs].map(harmlessLine);
}

const cellLength = 48;

function shortValue(value: JsonValue): string {
  const text = shortJson(value);
  return text.length <= cellLength ? text : `${text.slice(0, cellLength)}…`;
}

function nothingAt({ id }: Run, resource: string | undefined, path: string | undefined): string {
  const what = [resource, path].filter((one) => one !== undefined).join(" ");
  return `run ${id} has no desired field at ${what || "any path"}: see all with "purlin runs blame TYPE/NAME"`;
}

/** The runs of a composite resource that reached its pipeline, newest first, from the one that is asked for. */
async function composedRuns(runs: RunsSource, xr: string, id: string | undefined): Promise<readonly RunSummary[]> {
  const all = await runs.list(await runs.filterFor([xr]));
  const composed = all.filter(({ steps, outcome }) => steps.length > 0 && outcome !== "failed");
  const usable = composed.length > 0 ? composed : all.filter(({ steps }) => steps.length > 0);
  if (id === undefined) return usable;
  const at = usable.findIndex((one) => one.id.startsWith(id));
  if (at < 0) throw new UserError(`--run ${id}: not a run of ${xr} with a desired state`, { exitCode: 2 });
  return usable.slice(at);
}

interface History {
  readonly runs: RunsSource;
  readonly history: readonly RunSummary[];
  readonly latest: Run;
}

/** Follows each field back through earlier runs for as long as the same step set the same value. */
async function withSince(
  fields: readonly BlamedField[],
  { runs, history, latest }: History,
): Promise<readonly Blame[]> {
  const since = new Map<BlamedField, string>(fields.map((field) => [field, latest.id]));
  const values = new Map(fields.map((field) => [field, blameAt(latest, field.resource, field.path)]));
  let open = [...fields];
  for (const { id } of history.slice(1)) {
    if (open.length === 0) break;
    const earlier = await runs.get(id);
    open = open.filter((field) => {
      const [then, now] = [blameAt(earlier, field.resource, field.path), values.get(field)];
      if (then === undefined || then.step !== now?.step || then.text !== now.text) return false;
      since.set(field, id);
      return true;
    });
  }
  const unknown = new Set(open);
  return fields.map((field) => {
    const id = since.get(field) ?? latest.id;
    return { ...field, since: unknown.has(field) ? `before ${id}` : id };
  });
}

interface LiveQuery {
  readonly resource: string | undefined;
  readonly path: string | undefined;
  readonly io: Io;
}

async function liveOf(runs: RunsSource, found: Run, { resource, path, io }: LiveQuery): Promise<readonly LiveField[]> {
  const { cluster } = runs;
  if (cluster === undefined) throw new UserError("--live needs a control plane: omit --recorder-dir", { exitCode: 2 });
  return liveFields(cluster.client, found, { resource, path, signal: io.signal });
}

/** Whether a path is another one, or below it. */
function isWithin(path: string, outer: string): boolean {
  return path.startsWith(outer) && /^(?:[.[]|$)/.test(path.slice(outer.length));
}

/** A field of a composed resource on the API server that no step set, or that differs from what the steps want. */
export interface LiveField {
  readonly resource: string;
  readonly path: string;
  readonly value: JsonValue;
  /** Who owns the field: the engine, the API server, or a field manager. */
  readonly owner: string;
  /** What the pipeline wants there; undefined where it wants nothing. */
  readonly desired?: JsonValue | undefined;
}

const { resourceName } = crossplaneAnnotations;
const composedManager = "apiextensions.crossplane.io/composed";
/** Fields that every write changes, or that are not part of what a resource should be. */
const ignored =
  /^(?:status|metadata\.(?:managedFields|resourceVersion|uid|generation|creationTimestamp|selfLink))(?:[.[]|$)/;
const ofEngine =
  /^(?:metadata\.(?:name|namespace|generateName|ownerReferences|labels\[crossplane\.io\/|annotations\[crossplane\.io\/))/;

interface LiveFieldsQuery {
  readonly resource: string | undefined;
  /** The fields at or below this path. */
  readonly path?: string | undefined;
  readonly signal: AbortSignal;
}

/** The fields of live composed resources that the steps of a run do not explain. */
export async function liveFields(client: KubeReader, run: Run, query: LiveFieldsQuery): Promise<readonly LiveField[]> {
  const { xr, steps } = run;
  const last = steps.at(-1);
  const desired = desiredObjects(last && lastCall(last)?.response?.desired);
  const { signal } = query;
  const composite = await client.get(xr, { namespace: xr.namespace, name: xr.name }, { signal });
  const fields: LiveField[] = [];
  for (const { apiVersion, kind, namespace = xr.namespace, name = "" } of referencesOf(composite)) {
    const object = await ignoreNotFound(client.get({ apiVersion, kind }, { namespace, name }, { signal }));
    const resource = object && annotationOf(object, resourceName);
    if (object === undefined || resource === undefined) continue;
    if (query.resource !== undefined && query.resource !== resource) continue;
    fields.push(...unexplained(resource, object, desired.get(resource) ?? {}));
  }
  const { path } = query;
  return path === undefined ? fields : fields.filter((field) => isWithin(field.path, path));
}

function unexplained(resource: string, object: KubeObject, desired: JsonObject): readonly LiveField[] {
  const owners = ownersOf(object);
  const wanted = leavesOf(desired);
  return [...leavesOf(object as JsonObject)].flatMap(([path, value]) => {
    if (ignored.test(path)) return [];
    const want = wanted.get(path);
    if (want !== undefined && (jsonEqual(want, value) || isRedacted(want))) return [];
    const owner = ofEngine.test(path) ? "engine" : (owners.get(path) ?? "API server default");
    return [
      { resource, path, value: hidden(object, path, value), owner, ...(want !== undefined && { desired: want }) },
    ];
  });
}

function isRedacted(value: JsonValue): boolean {
  return typeof value === "string" && value.startsWith("**REDACTED");
}

function hidden({ apiVersion, kind }: KubeObject, path: string, value: JsonValue): JsonValue {
  const isSecret = apiVersion === "v1" && kind === "Secret" && /^(?:data|stringData)\b/.test(path);
  return isSecret || path.includes("last-applied") ? "(sensitive)" : value;
}

/** The manager of each field, with the time of its last write. */
function ownersOf(object: KubeObject): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  for (const entry of object.metadata.managedFields ?? []) {
    for (const path of pathsOf(entry.fieldsV1 ?? {}, object as JsonObject, "")) {
      const known = owners.get(path);
      owners.set(path, known === undefined ? ownerText(entry) : `${known}, ${ownerText(entry)}`);
    }
  }
  return owners;
}

function ownerText({ manager = "", time }: ManagedFieldsEntry): string {
  const name = manager.startsWith(composedManager) ? "engine" : manager;
  return time === undefined ? name : `${name} at ${time}`;
}

/** The paths of the leaves that a field set covers. */
function pathsOf(fields: JsonObject, value: JsonValue, path: string): readonly string[] {
  const inner = Object.entries(fields).filter(([key]) => key !== ".");
  if (inner.length === 0) return [...leavesOf(value, path).keys()];
  const children = childrenOf(value, path);
  return inner.flatMap(([key, below]) => {
    const child = childFor(key, value, children);
    return child === undefined || !isJsonObject(below) ? [] : pathsOf(below, child.value, child.path);
  });
}

function childFor(
  key: string,
  value: JsonValue,
  children: ReturnType<typeof childrenOf>,
): ReturnType<typeof childrenOf>[number] | undefined {
  const [kind, rest] = [key.slice(0, 2), key.slice(2)];
  // Children are sorted by name. Several may have the same value.
  if (kind === "f:") return isJsonObject(value) ? children[Object.keys(value).sort().indexOf(rest)] : undefined;
  if (kind === "i:") return children[Number(rest)];
  if (kind === "v:") return children.find((child) => printJson(child.value) === rest);
  if (kind !== "k:") return undefined;
  const keys = parseJson(rest) as JsonObject;
  return children.find(
    ({ value: item }) => isJsonObject(item) && Object.entries(keys).every(([name, one]) => item[name] === one),
  );
}
