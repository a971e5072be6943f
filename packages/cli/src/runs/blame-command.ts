// SPDX-License-Identifier: Apache-2.0

import type { JsonValue } from "@purlin/kube-objects/json";
import { type BlamedField, blame, blameAt, type Run, type RunSummary } from "@purlin/run-store";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { jsonText, readOutput } from "../options/data-output.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import { formatTable } from "../terminal/table.ts";
import { UserError } from "../user-error.ts";
import { type LiveField, liveFields } from "./live-fields.ts";
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
  const fields = await liveFields(cluster.client, found, { resource, signal: io.signal });
  return fields.filter((field) => path === undefined || field.path === path || field.path.startsWith(path));
}
