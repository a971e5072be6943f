// SPDX-License-Identifier: Apache-2.0

import {
  type FoundRevision,
  type FunctionReference,
  type FunctionRevisions,
  findRevision,
  isRunnerError,
} from "@purlin/function-runner";
import { goQuote } from "@purlin/kube-objects/json";
import type { ConditionText } from "@purlin/kube-objects/object";

/** The dependencies of a pipeline check. */
export interface PipelineDeps {
  readonly revisions: FunctionRevisions;
  /** Whether a function runs without a package, and so has no revision to check. */
  readonly isUnderDevelopment: (functionName: string, signal?: AbortSignal) => Promise<boolean>;
  /** Whether steps may name revisions of functions. */
  readonly revisionSelectors: boolean;
}

const validPipeline: ConditionText = { type: "ValidPipeline", status: "True", reason: "ValidPipeline" };

function invalid(reason: string, message: string): ConditionText {
  return { type: "ValidPipeline", status: "False", reason, message };
}

/**
 * Whether each step's function has the capability to compose, by the revision that the step resolves to now. A function that is not
 * installed, or whose package has not been read yet, does not make a pipeline invalid: the step reports what is missing.
 */
export async function checkPipeline(
  references: readonly FunctionReference[],
  deps: PipelineDeps,
  signal?: AbortSignal,
): Promise<ConditionText> {
  const closed = deps.revisionSelectors ? undefined : references.map(closedField).find(Boolean);
  if (closed !== undefined) return invalid("FeatureDisabled", closed);
  const problems: string[] = [];
  for (const reference of references) {
    const problem = await problemOf(reference, deps, signal);
    if (problem !== undefined && !problems.includes(problem)) problems.push(problem);
  }
  return problems.length === 0 ? validPipeline : invalid("MissingCapabilities", problems.join("; "));
}

const selectingFields = ["functionRevisionRef", "functionRevisionSelector", "function"] as const;

/** A disabled field must not be ignored: another revision than the one that the step names would run. */
function closedField(reference: FunctionReference): string | undefined {
  const field = selectingFields.find((name) => reference[name] !== undefined);
  if (field === undefined) return undefined;
  return `pipeline step ${goQuote(reference.step)} uses ${field}, which needs --enable-function-revision-selectors`;
}

const neededCapability = "composition";

async function problemOf(
  reference: FunctionReference,
  { revisions, isUnderDevelopment }: PipelineDeps,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const { functionName } = reference;
  if (functionName !== "" && (await isUnderDevelopment(functionName, signal))) return undefined;
  const found = await foundOrNothing(revisions, reference, signal);
  if (found === undefined || !found.revision.isExamined) return undefined;
  if (found.revision.capabilities.map(normalized).includes(neededCapability)) return undefined;
  const names = `function ${goQuote(found.functionName)} (active revision ${goQuote(found.revision.name)})`;
  return `${names} is missing required capabilities: ${neededCapability}`;
}

/** Capabilities are compared by their letters and digits. */
function normalized(capability: string): string {
  return capability.replaceAll(/[^a-zA-Z0-9]/g, "").toLowerCase();
}

const nothingServes: ReadonlySet<string> = new Set([
  "NO_ACTIVE_REVISION",
  "REVISION_NOT_FOUND",
  "REVISION_FOREIGN",
  "REVISION_INACTIVE",
]);

async function foundOrNothing(
  revisions: FunctionRevisions,
  reference: FunctionReference,
  signal?: AbortSignal,
): Promise<FoundRevision | undefined> {
  try {
    return await findRevision(revisions, reference, signal);
  } catch (error) {
    if (isRunnerError(error) && nothingServes.has(error.code)) return undefined;
    throw error;
  }
}
