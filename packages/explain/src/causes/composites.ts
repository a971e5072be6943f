// SPDX-License-Identifier: Apache-2.0
import { type Condition, isControlledBy, type KubeObject, stringAt } from "@purlin/kube-objects/object";
import {
  ageMs,
  ago,
  argumentOf,
  claimedRef,
  composedRefs,
  condition,
  conditionEvidence,
  elapsed,
  isTrue,
  refOf,
  refText,
  resourceName,
  unmet,
} from "../inspect/facts.ts";
import { found, type Inspection, messageContext, rule, type TextRule } from "../inspect/inspection.ts";
import { type Edge, type Finding, type NodeReport, type ObjectRef, recorderOff } from "../model/explanation.ts";
import { deletionReport } from "./deletion.ts";
import {
  fieldConflict,
  missingRequirement,
  nondeterministic,
  prunedField,
  readinessNotReported,
  recentRuns,
  renamed,
  reportedNotReady,
  runsOfLoop,
} from "./recorded.ts";
import { resourceRules } from "./resources.ts";
import { pinnedNote, selectionRules } from "./selection.ts";
import { circuitOpen, held, notHealed, notReconciled, paused, reconcileCommand, stale } from "./state.ts";
import { stepRules } from "./steps.ts";

// Claims, and the connection Secrets of claims and composite resources.

const lagMs = 10_000;
const secretType = { apiVersion: "v1", kind: "Secret" } as const;

/** E55: the composite resource is bound to another claim. */
const foreignComposite = rule(
  /refusing to operate on composite resource "([^"]*)" that is not bound to this claim: bound to claim ([\s\S]*)$|refusing to operate on composite resource/,
  ([, name = "", other = ""], context) =>
    found("E55", context, {
      path: "spec.resourceRef",
      sentence: `spec.resourceRef names composite resource ${name}, which is bound to claim ${other || "another claim"}`,
      next: ["correct spec.resourceRef, or remove it so that a new composite resource is created"],
    }),
);

/** E56: the connection Secret cannot be written. */
const connection = rule(
  /cannot (?:publish|propagate) connection details[^:]*: ([\s\S]*)$/,
  async ([, why = ""], context) => {
    const key = /Secret "([^"/]+)\/([^"]+)"/.exec(why);
    const { object, inspection } = context;
    if (key !== null) {
      const secret = await inspection.reader.find({ ...secretType, namespace: key[1] ?? "", name: key[2] ?? "" });
      if (secret !== undefined && isControlledBy(secret, object.metadata.uid ?? "")) {
        return { healed: `the connection Secret ${key[1]}/${key[2]} is not its own`, at: undefined };
      }
    }
    return found("E56", context, {
      path: "spec.writeConnectionSecretToRef",
      sentence: `The connection Secret cannot be written: ${why}`,
      next: ["use another name in writeConnectionSecretToRef, or delete the Secret"],
    });
  },
);

/** Recognizes what fails on a claim. */
const claimRules: readonly TextRule[] = [foreignComposite, connection];

/** Recognizes what fails when connection details are published. */
const connectionRule: TextRule = connection;

/** E54: the composite resource is ready, and its claim does not show it. */
function claimOutOfDate(claim: KubeObject, xr: KubeObject, inspection: Inspection): Finding | undefined {
  const ready = condition(claim, "Ready");
  const source = condition(xr, "Ready");
  const { now } = inspection;
  if (ready?.status === "True" || !isTrue(xr, "Ready") || !isTrue(xr, "Synced")) return undefined;
  const since = elapsed(source?.lastTransitionTime, now) ?? ageMs(xr, now);
  if (since <= lagMs || stringAt(claim, ["metadata", "deletionTimestamp"]) !== "") return undefined;
  const evidence = [ready && conditionEvidence(claim, ready), source && conditionEvidence(xr, source)];
  return {
    code: "E54",
    object: refOf(claim),
    since: source?.lastTransitionTime,
    sentence: `${refText(refOf(xr))} became ready ${ago(source?.lastTransitionTime, now)}, and its claim does not show it`,
    evidence: evidence.filter((one) => one !== undefined),
    next: [reconcileCommand(claim)],
  };
}

const compositeRules: readonly TextRule[] = [connectionRule, ...selectionRules, ...stepRules, ...resourceRules];

/** The state of a composite resource. */
export async function compositeReport(xr: KubeObject, inspection: Inspection): Promise<NodeReport> {
  const before = await beforeConditions(xr, inspection);
  if (before !== undefined) return before;
  const circuit = circuitOpen(xr);
  const looping = circuit === undefined ? [] : [await loopCause(xr, circuit, inspection)];
  const own = await conditionReport(xr, compositeRules, inspection);
  const isUnready = own.findings?.length === 0 && unmet(xr, "Ready") !== undefined && isTrue(xr, "Synced");
  const readiness = isUnready ? await readinessReport(xr, inspection) : {};
  const edges = isTrue(xr, "Ready") && isTrue(xr, "Synced") ? [] : await unhealthyChildren(xr, inspection);
  const note = await pinnedNote(xr, { inspection });
  return {
    findings: [...looping, ...(own.findings ?? []), ...(readiness.findings ?? [])],
    waiting: [...(own.waiting ?? []), ...(readiness.waiting ?? [])],
    unknown: own.unknown ?? [],
    notes: [...(own.notes ?? []), ...(readiness.notes ?? []), ...(note === undefined ? [] : [note])],
    edges: [...(own.edges ?? []), ...edges],
  };
}

/** The state of a claim: its own, then that of its composite resource. */
export async function claimReport(claim: KubeObject, inspection: Inspection): Promise<NodeReport> {
  const before = await beforeConditions(claim, inspection);
  if (before !== undefined) return before;
  const own = await conditionReport(claim, [...claimRules, ...resourceRules], inspection);
  const ref = claimedRef(claim);
  const xr = ref && (await inspection.reader.find(ref));
  if (ref === undefined || (own.findings ?? []).some(({ code }) => code === "E55")) return own;
  if (xr === undefined) return { ...own, waiting: [{ text: `its composite resource ${ref.name} does not exist yet` }] };
  const lag = claimOutOfDate(claim, xr, inspection);
  return { ...own, findings: [...(own.findings ?? []), ...(lag === undefined ? [] : [lag])], edges: [{ to: ref }] };
}

/** What is to be known before the conditions count: deletion, pause, approval, and whether they are about this generation. */
async function beforeConditions(object: KubeObject, inspection: Inspection): Promise<NodeReport | undefined> {
  const pause = paused(object);
  if (pause !== undefined) return { findings: [pause] };
  if (object.metadata.deletionTimestamp) return deletionReport(object, inspection);
  const hold = held(object);
  if (hold !== undefined) return { findings: [hold] };
  const absent = (await notReconciled(object, inspection)) ?? stale(object, inspection);
  if (absent === undefined) return undefined;
  if (absent !== "young") return { findings: [absent] };
  return {
    waiting: [
      {
        since: object.metadata.creationTimestamp ?? undefined,
        text: "waits for its first reconcile of this generation",
      },
    ],
  };
}

/** What the condition Synced says. */
async function conditionReport(
  object: KubeObject,
  rules: readonly TextRule[],
  inspection: Inspection,
): Promise<NodeReport> {
  const synced = unmet(object, "Synced");
  if (synced === undefined) return { findings: [] };
  if (synced.reason === "WaitingForFunction") return functionReport(synced);
  const context = messageContext(object, synced, inspection);
  for (const rule of rules) {
    const recognized = await rule(context);
    if (recognized === undefined) continue;
    if ("code" in recognized) return { findings: [recognized] };
    return healedReport(object, recognized, inspection);
  }
  return { findings: [], unknown: [conditionEvidence(object, synced)] };
}

/** A step is running: its Function may say why it takes long. */
function functionReport({ message = "waits for a function", lastTransitionTime: since }: Condition): NodeReport {
  const [, name, step] = /Function "([^"]+)" in pipeline step "([^"]+)"/.exec(message) ?? [];
  const edge = {
    to: { apiVersion: "pkg.crossplane.io/v1", kind: "Function", name: name ?? "" },
    via: `step "${step ?? ""}"`,
  };
  return { findings: [], waiting: [{ since, text: message }], edges: name === undefined ? [] : [edge] };
}

function healedReport(
  object: KubeObject,
  healed: { readonly healed: string; readonly at?: string | null | undefined },
  inspection: Inspection,
): NodeReport {
  const stuck = notHealed(object, healed, inspection);
  if (stuck !== undefined) return { findings: [stuck] };
  const text = `was: ${healed.healed}, gone since ${healed.at ? ago(healed.at, inspection.now) : "then"}`;
  return { findings: [], waiting: [{ since: healed.at ?? undefined, text }], notes: [{ text }] };
}

/** E63 and E64 explain an open circuit better than the circuit does. */
async function loopCause(xr: KubeObject, circuit: Finding, inspection: Inspection): Promise<Finding> {
  const runs = await recentRuns(xr, inspection, runsOfLoop);
  const better = (await fieldConflict(xr, runs, inspection)) ?? nondeterministic(xr, runs);
  if (better !== undefined) return better;
  return runs.length === 0 ? { ...circuit, sentence: `${circuit.sentence} (${recorderOff})` } : circuit;
}

/** Why a composite resource that was composed is not ready. */
async function readinessReport(xr: KubeObject, inspection: Inspection): Promise<NodeReport> {
  const ready = condition(xr, "Ready");
  const [run, ...older] = await recentRuns(xr, inspection);
  const unready = unreadyNames(ready);
  const findings: Finding[] = [];
  const withheld = await withheldResource(xr, inspection);
  if (withheld !== undefined) findings.push(withheld);
  if (run !== undefined) {
    const runs = [run, ...older];
    const missing = await missingRequirement(xr, run, inspection);
    const all = [
      missing,
      renamed(xr, runs, inspection.now),
      // What a step misses is why it reports that.
      missing === undefined ? reportedNotReady(xr, run) : undefined,
      readinessNotReported(xr, run, unready),
      prunedField(xr, run, inspection),
    ];
    findings.push(...all.filter((one) => one !== undefined));
  }
  const text = [`Ready is ${ready?.status ?? "Unknown"}`, ready?.reason, ready?.message].filter(Boolean).join(": ");
  const silent = findings.length === 0 && run === undefined && (await isReadinessUnexplained(xr, unready, inspection));
  return {
    findings,
    waiting: [{ since: ready?.lastTransitionTime, text }],
    notes: silent ? [{ text: recorderOff }] : [],
  };
}

function unreadyNames(ready: Condition | undefined): readonly string[] {
  const list = /Unready resources: (.*)$/.exec(ready?.message ?? "")?.[1] ?? "";
  return list
    .replace(/,? and \d+ more$/, "")
    .split(/,? and |, /)
    .filter((name) => name !== "");
}

/** Whether nothing that can be read explains why a composite resource is unready: its resources say that they are ready. */
async function isReadinessUnexplained(
  xr: KubeObject,
  unready: readonly string[],
  { reader }: Inspection,
): Promise<boolean> {
  const objects = await Promise.all(composedRefs(xr).map((ref) => reader.find(ref)));
  const listedOnes = objects.filter(
    (one) => one !== undefined && (unready.length === 0 || unready.includes(resourceName(one) ?? "")),
  );
  return listedOnes.every((one) => one !== undefined && isTrue(one, "Ready"));
}

/** E52: a sequencer or another step says what a resource waits for. */
async function withheldResource(xr: KubeObject, { reader }: Inspection): Promise<Finding | undefined> {
  const since = condition(xr, "Ready")?.lastTransitionTime ?? "";
  const pattern =
    /(?:Delaying|delaying|Withholding|withholding) creation of resource\(s\) matching "([^"]+)" because "([^"]+)"|[Rr]esource "([^"]+)" waits for "([^"]+)"/;
  for (const event of await reader.eventsOf(xr)) {
    const time = stringAt(event, ["lastTimestamp"]) || stringAt(event, ["eventTime"]);
    const match = pattern.exec(stringAt(event, ["message"]));
    if (match === null || (time !== "" && Date.parse(time) < Date.parse(since))) continue;
    const [waits, other] = [match[1] ?? match[3] ?? "", match[2] ?? match[4] ?? ""];
    const below = await childNamed(xr, other, reader);
    return {
      code: "E52",
      object: refOf(xr),
      since: time || undefined,
      sentence: `Resource "${waits}" is not created until "${other}" is ready`,
      evidence: [{ object: refText(refOf(event)), path: "message", time, text: stringAt(event, ["message"]) }],
      next: [below === undefined ? `purlin trace ${argumentOf(refOf(xr))}` : `purlin explain ${argumentOf(below)}`],
      waitsFor: below === undefined ? [] : [{ to: below, via: `resource "${other}"` }],
      effectOnly: false,
    };
  }
  return undefined;
}

async function childNamed(xr: KubeObject, name: string, reader: Inspection["reader"]): Promise<ObjectRef | undefined> {
  for (const ref of composedRefs(xr)) {
    const object = await reader.find(ref);
    if (object !== undefined && resourceName(object) === name) return ref;
  }
  return undefined;
}

/** E48: the composed resources that are not ready. */
async function unhealthyChildren(xr: KubeObject, { reader }: Inspection): Promise<readonly Edge[]> {
  const refs = composedRefs(xr);
  const reads = await Promise.all(refs.map((ref) => reader.read(ref)));
  return refs.flatMap((to, index) => {
    const read = reads[index];
    const name = read?.state === "found" ? resourceName(read.object) : undefined;
    return read?.state === "found" ? [{ to, via: name === undefined ? undefined : `resource "${name}"` }] : [];
  });
}
