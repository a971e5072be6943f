// SPDX-License-Identifier: Apache-2.0
import { functionType } from "@purlin/composition";
import type { ControlPlaneSettings } from "@purlin/control-plane";
import type { KubeClient } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import type { KubeObject, ObjectKey, TypeRef } from "@purlin/kube-objects/object";
import { applyStages, type ChangeSet } from "./change-set.ts";
import { identityAt, identityOf, LiveReads } from "./overlay/live-reads.ts";
import { buildPlan } from "./plan/build-plan.ts";
import { definitionFindings } from "./plan/definition-findings.ts";
import { judgeFinalForms } from "./plan/judge-final.ts";
import { Mask } from "./plan/mask.ts";
import type { ChangeContext } from "./plan/object-changes.ts";
import type { Plan, PlanError } from "./plan/plan.ts";
import { movePinned, type RootOptions, rootsOf, unmatched } from "./roots.ts";
import type { Assumptions } from "./settle/assume.ts";
import { type ApplyStage, type Pass, type PassFunctions, runPass } from "./settle/run-pass.ts";
import { createStepRecord } from "./settle/step-record.ts";

/** What to preview, and how. */
export interface PreviewOptions {
  /** A client whose transport refuses to change anything: see guardTransport. */
  readonly client: KubeClient;
  readonly changes: ChangeSet;
  /** What the preview needs with and without the change set: functions that run elsewhere, and their credentials. */
  readonly sharedStages?: readonly ApplyStage[] | undefined;
  /** Changes of function sources, applied before anything else. */
  readonly functionStages: readonly ApplyStage[];
  readonly functions: (client: ControllerClient) => PassFunctions;
  /** The functions of the baseline, where they are not the same. */
  readonly baselineFunctions?: ((client: ControllerClient) => PassFunctions) | undefined;
  readonly roots: RootOptions;
  readonly settings?: Partial<ControlPlaneSettings> | undefined;
  readonly assume: Assumptions | undefined;
  /** Subtract what would happen without the change set. */
  readonly baseline: boolean;
  readonly hasControllerRights?: boolean | undefined;
  readonly projection: ChangeContext["projection"];
  readonly ignores: ChangeContext["ignores"];
  readonly parallel: number;
  readonly maxRounds: number;
  readonly maxDepth?: number | undefined;
  /** Once it is aborted the plan is built from the composite resources that are finished. */
  readonly deadline?: AbortSignal | undefined;
  /** What to do when the deadline passes; for the flags of `purlin diff` unless given. */
  readonly deadlineAdvice?: string | undefined;
  /** Also runs composite resources with a Manual update policy, as if they moved to the new revision. */
  readonly includesManual?: boolean | undefined;
  /** Runs everything twice, and marks what differs. */
  readonly checksStable?: boolean | undefined;
  /** Objects that only the preview changes, such as Secrets with credentials of functions: they are not part of the plan. */
  readonly unlisted?: readonly KubeObject[] | undefined;
  readonly signal: AbortSignal;
}

/** How often a preview starts again when the control plane changes under it. */
const attempts = 3;

/** Finds out what a change set would do. Nothing is changed. */
export async function preview(options: PreviewOptions): Promise<Plan> {
  for (let attempt = 1; ; attempt += 1) {
    const live = new LiveReads(options.client);
    const { plan, changed } = await previewOnce(options, live);
    if (changed.length === 0) return plan;
    if (attempt === attempts || options.deadline?.aborted === true) {
      const warning = `the control plane changed while the preview ran (${changed.length} objects, such as ${changed[0]}): the plan may be out of date`;
      return { ...plan, isStale: true, warnings: [...plan.warnings, warning] };
    }
  }
}

async function previewOnce(
  options: PreviewOptions,
  live: LiveReads,
): Promise<{ readonly plan: Plan; readonly changed: readonly string[] }> {
  const { changes, signal, sharedStages = [] } = options;
  const errors: PlanError[] = [];
  const steps = createStepRecord();
  const roots = (pass: Pass) => rootsOf(pass, changes, options.roots);
  const shared = { ...options, live, roots };
  const unchanged = { ...shared, functions: options.baselineFunctions ?? options.functions, stages: sharedStages };
  // Secrets that either pass sees are hidden in the texts of both.
  await using baseline = options.baseline ? await runPass(unchanged) : undefined;
  // Nothing is finished while it is unknown what would happen anyway.
  if (options.deadline?.aborted)
    throw new Error(baseline?.engine.waitsFor().join("; ") ?? "", { cause: options.deadline.reason });
  const moved = new Set<string>();
  const moving = options.includesManual === true ? [movePinned(changes, moved)] : [];
  const applying = applyStages(changes, (error) => errors.push(error));
  const stages = [...sharedStages, ...options.functionStages, ...applying, ...moving];
  const functions = (client: ControllerClient): PassFunctions => steps.recording(options.functions(client));
  const chosen = async (pass: Pass): Promise<readonly KubeObject[]> => {
    const found = await roots(pass);
    const missing = unmatched(options.roots, [...found, ...pass.skipped], changes);
    errors.push(...missing.map((name) => ({ text: unmatchedText(name), isInvalid: true })));
    return found;
  };
  await using candidate = await runPass({ ...shared, functions, stages, roots: chosen, appliesHeld: true });
  const isRepeated = options.checksStable === true && options.deadline?.aborted !== true;
  await using again = isRepeated
    ? await runPass({ ...shared, stages: repeated(options, moved), appliesHeld: true })
    : undefined;
  errors.push(...unfinishedErrors(candidate, options.deadlineAdvice));
  for (const pass of [baseline, candidate]) if (pass !== undefined) await judgeFinalForms(pass.overlay, signal);
  const changed = await live.changedSince(signal);
  const mask = new Mask();
  // Values of objects that were refused are in no overlay, and may be in the text of the refusal.
  for (const object of changes.stages.flat()) mask.object(object);
  const plan = await buildPlan({
    ...options,
    candidate,
    baseline,
    again,
    moved,
    mask,
    stepOf: steps.stepOf,
    findings: await definitionFindings(candidate),
    errors,
    warnings: changes.deletes.filter(isNamespace).map(namespaceWarning),
    functions: steps.functions(),
    isStale: false,
    unlisted: new Set([
      ...options.roots.functions.map((name) => identityAt(functionType, { name })),
      ...(options.unlisted ?? []).map(identityOf),
    ]),
    listed: new Set(changes.stages.flat().map(identityOf)),
  });
  return { plan, changed };
}

function isNamespace({ apiVersion, kind }: TypeRef): boolean {
  return apiVersion === "v1" && kind === "Namespace";
}

function namespaceWarning({ name }: ObjectKey): string {
  return `Namespace ${name}: everything in it is deleted with it: the plan lists its claims and composite resources, and what they compose, and no other objects`;
}

function unmatchedText(name: string): string {
  return `--xr ${name}: no composite resource of this name that the change may concern: check the name, as [NAMESPACE/]NAME`;
}

/** The stages of a second run; what the first one reported is not reported again. */
function repeated(
  { sharedStages = [], functionStages, changes, includesManual }: PreviewOptions,
  moved: Set<string>,
): readonly ApplyStage[] {
  const moving = includesManual === true ? [movePinned(changes, moved)] : [];
  return [...sharedStages, ...functionStages, ...applyStages(changes, () => {}), ...moving];
}

const usualAdvice = "raise --timeout, or preview less at once with --xr";

function unfinishedErrors({ engine }: Pass, advice = usualAdvice): readonly PlanError[] {
  const count = engine.unfinished.size;
  if (count === 0) return [];
  const calls = engine.waitsFor().join("; ");
  const waiting = calls === "" ? "" : ` (${calls})`;
  const text = `the timeout passed: ${count} ${count === 1 ? "object is" : "objects are"} not finished${waiting}: ${advice}`;
  return [{ text, isInvalid: false }];
}
