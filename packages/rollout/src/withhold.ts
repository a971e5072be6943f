// SPDX-License-Identifier: Apache-2.0

import { functionRevisionType } from "@purlin/composition";
import { withheldAnnotation } from "@purlin/function-runner";
import type { ControllerClient } from "@purlin/kube-controller";
import { isNotFound } from "@purlin/kube-objects/errors";
import { annotationOf } from "@purlin/kube-objects/object";
import type { FrozenSides } from "./state.ts";

interface WithholdOptions {
  readonly rollout: string;
  readonly signal: AbortSignal;
}

/** Marks candidates, so that no step gets one for being the newest revision, also when the rollout is deleted before it succeeded. */
export async function withhold(
  client: ControllerClient,
  sides: readonly FrozenSides[],
  options: WithholdOptions,
): Promise<void> {
  await annotate(client, sides, { ...options, value: options.rollout, replaces: () => true });
}

/** Lets candidates be chosen like every other revision. The mark of another rollout stays. */
export async function release(
  client: ControllerClient,
  sides: readonly FrozenSides[],
  options: WithholdOptions,
): Promise<void> {
  await annotate(client, sides, { ...options, value: null, replaces: (mark) => mark === options.rollout });
}

interface Mark extends WithholdOptions {
  readonly value: string | null;
  /** Whether the mark of a revision is replaced. */
  readonly replaces: (mark: string | null) => boolean;
}

async function annotate(
  client: ControllerClient,
  sides: readonly FrozenSides[],
  { value, signal, replaces }: Mark,
): Promise<void> {
  for (const { candidate } of sides) {
    if (candidate === "") continue;
    const revision = await client.get(functionRevisionType, { name: candidate }, { signal });
    const mark = revision && (annotationOf(revision, withheldAnnotation) ?? null);
    if (mark === undefined || mark === value || !replaces(mark)) continue;
    const patch = { metadata: { annotations: { [withheldAnnotation]: value } } };
    try {
      await client.patch({ ...functionRevisionType, name: candidate }, patch, { type: "merge", signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
