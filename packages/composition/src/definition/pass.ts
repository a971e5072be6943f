// SPDX-License-Identifier: Apache-2.0

import { isAlreadyExists, isConflict, textOf, wrapError } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { InstanceControllers } from "./instance-controllers.ts";
import type { DefinitionDeps } from "./ports.ts";
import type { DefinitionSide } from "./side.ts";
import { withFailure, writeStatus } from "./status.ts";

/** One pass over a definition: who, on which side, and until when. */
export interface DefinitionPass {
  readonly deps: DefinitionDeps;
  readonly side: DefinitionSide;
  readonly controllers: InstanceControllers;
  /** Aborts when the time is up, or when the controller stops. */
  readonly signal: AbortSignal;
  /** Aborts when the controller stops: running out of time can still be told. */
  readonly stopping: AbortSignal;
}

/** What is told when a step fails. */
interface FailureText {
  readonly reason: string;
  readonly text: string;
}

/**
 * Runs a step. When it fails the definition tells so, in an event and in its Synced condition, and the failure goes on to
 * the controller, which tries again. A lost race is no failure.
 */
export async function failing<T>(
  pass: DefinitionPass,
  xrd: KubeObject,
  { reason, text }: FailureText,
  step: () => T | Promise<T>,
): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (isConflict(error) || isAlreadyExists(error) || pass.stopping.aborted) throw error;
    const failure = wrapError(text, error);
    const { events } = pass.deps;
    events.with(pass.side.controllerName).event(xrd, { type: "Warning", reason, message: failure.message });
    await writeFailure(pass, xrd, failure.message);
    throw failure;
  }
}

/** Best effort: the failure it tells of is what counts, and the next pass tells it again. */
export async function writeFailure(
  { deps, side, stopping }: DefinitionPass,
  xrd: KubeObject,
  message: string,
): Promise<void> {
  try {
    await writeStatus(deps, xrd, withFailure(xrd, side, message, deps), stopping);
  } catch (error) {
    deps.log.debug("cannot tell a definition of its failure", { definition: xrd.metadata.name, error: textOf(error) });
  }
}
