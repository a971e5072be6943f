// SPDX-License-Identifier: Apache-2.0
// Causes that only recorded runs show.
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual, printJson } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { ago, listed, refOf, refText } from "../inspect/facts.ts";
import { type Inspection, kindKey } from "../inspect/inspection.ts";
import type { Finding, RecordedRun, RecordedStep } from "../model/explanation.ts";

const kept = 5;

/** A reconcile for each change of two writers leaves runs between those in which the other one came last. */
export const runsOfLoop = 20;

/** The runs of a composite resource, newest first; none without a recorder. */
export async function recentRuns(
  xr: KubeObject,
  { history }: Inspection,
  limit: number = kept,
): Promise<readonly RecordedRun[]> {
  return (await history?.runsOf(refOf(xr), limit)) ?? [];
}

function recorded(
  xr: KubeObject,
  run: RecordedRun,
  parts: Pick<Finding, "code" | "sentence" | "next" | "path" | "via">,
): Finding {
  return {
    object: refOf(xr),
    since: run.time,
    evidence: [{ object: refText(refOf(xr)), time: run.time, text: `run ${run.id}` }],
    ...parts,
  };
}

/** E31, E33: a requirement without a result. */
export async function missingRequirement(
  xr: KubeObject,
  run: RecordedRun,
  { reader }: Inspection,
): Promise<Finding | undefined> {
  for (const { step, missing, warnings } of run.steps) {
    for (const one of missing) {
      const { apiVersion, kind, name, namespace } = one;
      if (one.what === "schema") {
        if (warnings.length === 0) continue;
        return recorded(xr, run, {
          code: "E33",
          via: `step "${step}"`,
          sentence: `Step "${step}" requires the schema of ${kind} (${apiVersion}), which the API server does not serve`,
          next: [`install the CRD of ${kind}`],
        });
      }
      if (name === undefined) continue;
      const ref = { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
      // It may have been created since.
      if ((await reader.read(ref)).state === "found") continue;
      return recorded(xr, run, {
        code: "E31",
        via: `step "${step}"`,
        sentence: `Step "${step}" requires ${refText(ref)}, which does not exist`,
        next: [`create ${refText(ref)}`],
      });
    }
  }
  return undefined;
}

/** E46: a status field that the XRD does not define. */
export function prunedField(xr: KubeObject, run: RecordedRun, { kinds }: Inspection): Finding | undefined {
  const definition = kinds.get(kindKey(xr))?.definition;
  const status = run.desired.composite?.["status"];
  if (definition === undefined || !isJsonObject(status)) return undefined;
  const schema = statusSchema(definition, xr.apiVersion);
  const path = Object.keys(status)
    .sort()
    .find((key) => isUndeclared(schema, key) && memberAt(xr, ["status", key]) === undefined);
  if (path === undefined) return undefined;
  return recorded(xr, run, {
    code: "E46",
    path: `status.${path}`,
    sentence: `status.${path} is not in the schema of ${definition.metadata.name ?? ""}, so the API server drops it${blame(run.steps, path)}`,
    next: [`add status.${path} to the XRD`],
  });
}

function blame(steps: readonly RecordedStep[], field: string): string {
  const setter = steps.findLast(({ desired }) => {
    const status = desired.composite?.["status"];
    return isJsonObject(status) && Object.hasOwn(status, field);
  });
  return setter === undefined ? "" : `; step "${setter.step}" sets it`;
}

function statusSchema(definition: KubeObject, apiVersion: string): JsonObject | undefined {
  const version = objectsAt(definition, ["spec", "versions"]).find((one) =>
    apiVersion.endsWith(`/${stringAt(one, ["name"])}`),
  );
  const schema = version && memberAt(version, ["schema", "openAPIV3Schema", "properties", "status"]);
  return isJsonObject(schema) ? schema : undefined;
}

const crossplaneStatus = new Set([
  "conditions",
  "connectionDetails",
  "crossplane",
  "claimConditionTypes",
  "lastHandledReconcileAt",
]);

function isUndeclared(schema: JsonObject | undefined, key: string): boolean {
  if (schema?.["x-kubernetes-preserve-unknown-fields"] === true || crossplaneStatus.has(key)) return false;
  const properties = schema?.["properties"];
  return !isJsonObject(properties) || !Object.hasOwn(properties, key);
}

/** E47: every step leaves the readiness of a resource open, though the resource itself is ready. */
export function readinessNotReported(
  xr: KubeObject,
  run: RecordedRun,
  unready: readonly string[],
): Finding | undefined {
  const open = unready.filter(
    (name) => run.desired.resources[name]?.ready === "Unspecified" && isReady(run.observed[name]),
  );
  if (open.length === 0) return undefined;
  return recorded(xr, run, {
    code: "E47",
    sentence: `No step reports whether ${listed(open)} ${open.length === 1 ? "is" : "are"} ready, although ${open.length === 1 ? "its own condition" : "their own conditions"} Ready ${open.length === 1 ? "is" : "are"} True`,
    next: ["add function-auto-ready as the last step, or set ready in a function"],
  });
}

function isReady(object: JsonObject | undefined): boolean {
  return (
    object !== undefined &&
    objectsAt(object, ["status", "conditions"]).some((one) => one["type"] === "Ready" && one["status"] === "True")
  );
}

/** E53: a step says that the composite resource is not ready. */
export function reportedNotReady(xr: KubeObject, run: RecordedRun): Finding | undefined {
  if (run.desired.compositeReady !== "False") return undefined;
  const step = run.steps.findLast(
    ({ desired }, index) =>
      desired.compositeReady === "False" && run.steps[index - 1]?.desired.compositeReady !== "False",
  );
  const name = step?.step ?? "";
  return recorded(xr, run, {
    code: "E53",
    via: `step "${name}"`,
    sentence: `Step "${name}" reports that the composite resource is not ready`,
    next: [`purlin runs show ${run.id}`],
  });
}

/** E64: equal input, different output. */
export function nondeterministic(xr: KubeObject, runs: readonly RecordedRun[]): Finding | undefined {
  const [newest, before] = runs;
  if (newest === undefined || before === undefined || newest.observedHash !== before.observedHash) return undefined;
  for (const [index, step] of newest.steps.entries()) {
    const other = before.steps[index];
    if (other === undefined) return undefined;
    const [now, then] = [step.desired.resources, other.desired.resources];
    for (const name of [...new Set([...Object.keys(now), ...Object.keys(then)])].sort()) {
      const path = firstDifference(now[name]?.object, then[name]?.object);
      if (path === undefined) continue;
      const differs =
        path === "" ? `resource "${name}" in some runs only` : `another ${path} of resource "${name}" in every run`;
      return recorded(xr, newest, {
        code: "E64",
        ...(path !== "" && { path }),
        via: `step "${step.step}"`,
        sentence: `Step "${step.step}" returns ${differs}, for equal input`,
        next: [`correct Function ${step.functionName}: equal requests must have equal responses`],
      });
    }
  }
  return undefined;
}

/** E63: another writer changes a field back after every run. */
export async function fieldConflict(
  xr: KubeObject,
  runs: readonly RecordedRun[],
  inspection: Inspection,
): Promise<Finding | undefined> {
  for (const name of Object.keys(runs[0]?.desired.resources ?? {}).sort()) {
    const found = contestedTwice(runs, name);
    if (found === undefined) continue;
    const { run, path } = found;
    const object = run.observed[name];
    const live = object && (await inspection.reader.find(refOf(object as unknown as KubeObject)));
    const [mine, theirs] = managersOf(live, path);
    const step =
      run.steps.findLast(({ desired }) => valueAt(desired.resources[name]?.object, path) !== undefined)?.step ?? "";
    const wanted = printJson(valueAt(run.desired.resources[name]?.object, path) ?? null);
    return recorded(xr, run, {
      code: "E63",
      path,
      sentence: `${path} of resource "${name}": step "${step}" sets ${wanted} as ${mine}, and ${theirs} sets ${printJson(valueAt(object, path) ?? null)}`,
      next: [`leave ${path} out of the function, or stop ${theirs} from setting it`],
    });
  }
  return undefined;
}

/** The newest run before which a field was changed that was also changed before an equal run, or an older one that set it to the same value. */
function contestedTwice(
  runs: readonly RecordedRun[],
  name: string,
): { readonly run: RecordedRun; readonly path: string } | undefined {
  const newest = new Map<string, RecordedRun>();
  for (const run of runs) {
    const path = contested(run, name);
    if (path === undefined) continue;
    const key = `${path} ${printJson(valueAt(run.desired.resources[name]?.object, path) ?? null)}`;
    const before = (run.repeats ?? 0) > 0 ? run : newest.get(key);
    if (before !== undefined) return { run: before, path };
    newest.set(key, run);
  }
  return undefined;
}

/** The first field that a resource had been changed in before a run. */
function contested(run: RecordedRun, name: string): string | undefined {
  const desired = run.desired.resources[name]?.object;
  const observed = run.observed[name];
  if (desired === undefined || observed === undefined) return undefined;
  return firstOverride(desired["spec"], observed["spec"], "spec");
}

/** The first leaf of one value that another one has in a different form. */
function firstOverride(
  desired: JsonValue | undefined,
  observed: JsonValue | undefined,
  path: string,
): string | undefined {
  if (desired === undefined || observed === undefined) return undefined;
  if (isJsonObject(desired) && isJsonObject(observed)) {
    for (const key of Object.keys(desired).sort()) {
      const below = firstOverride(desired[key], observed[key], `${path}.${key}`);
      if (below !== undefined) return below;
    }
    return undefined;
  }
  return jsonEqual(desired, observed) ? undefined : path;
}

function firstDifference(a: JsonValue | undefined, b: JsonValue | undefined, path = ""): string | undefined {
  if (isJsonObject(a) && isJsonObject(b)) {
    for (const key of [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()) {
      const below = firstDifference(a[key], b[key], path === "" ? key : `${path}.${key}`);
      if (below !== undefined) return below;
    }
    return undefined;
  }
  if (a === undefined && b === undefined) return undefined;
  return a !== undefined && b !== undefined && jsonEqual(a, b) ? undefined : path;
}

function valueAt(object: JsonValue | undefined, path: string): JsonValue | undefined {
  return path.split(".").reduce<JsonValue | undefined>((at, key) => (isJsonObject(at) ? at[key] : undefined), object);
}

/** The manager of the control plane and the other one that own a field. */
function managersOf(object: KubeObject | undefined, path: string): readonly [string, string] {
  const keys = path.split(".").map((key) => `f:${key}`);
  const owners = (object?.metadata.managedFields ?? []).filter(
    ({ fieldsV1 }) => memberAt(fieldsV1 ?? {}, keys) !== undefined,
  );
  const names = owners.map(({ manager = "" }) => manager);
  const all = (object?.metadata.managedFields ?? []).map(({ manager = "" }) => manager);
  // The one that wrote last owns the field.
  const isOurs = (name: string): boolean => name.startsWith("apiextensions.crossplane.io/");
  const mine = names.find(isOurs) ?? all.find(isOurs) ?? "the control plane";
  const theirs = [...names, ...all].find((name) => !isOurs(name)) ?? "another writer";
  return [mine, theirs];
}

/** E66: a resource has another name than before. */
export function renamed(xr: KubeObject, runs: readonly RecordedRun[], now: number): Finding | undefined {
  const [newest] = runs;
  const older = runs
    .slice(1)
    .find((run) =>
      Object.keys(run.desired.resources).some((name) => !Object.hasOwn(newest?.desired.resources ?? {}, name)),
    );
  if (newest === undefined || older === undefined) return undefined;
  const gone = Object.keys(older.desired.resources)
    .filter((name) => !Object.hasOwn(newest.desired.resources, name))
    .sort();
  const fresh = Object.keys(newest.desired.resources)
    .filter((name) => !Object.hasOwn(older.desired.resources, name))
    .sort();
  for (const from of gone) {
    const to = fresh.find(
      (name) => kindIn(newest, name) === kindIn(older, from) && newest.desired.resources[name]?.ready !== "True",
    );
    if (to === undefined) continue;
    return recorded(xr, newest, {
      code: "E66",
      sentence: `Resource "${from}" became "${to}": the old ${kindIn(older, from)} was deleted ${ago(newest.time, now)}, and the new one is not ready yet`,
      next: [
        `keep the name "${from}" in the function, or declare the rename on the step of the Composition: moved: [{from: ${from}, to: ${to}}]`,
      ],
    });
  }
  return undefined;
}

function kindIn(run: RecordedRun, name: string): string {
  return stringAt(run.desired.resources[name]?.object ?? {}, ["kind"]);
}
