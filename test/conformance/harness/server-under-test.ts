// SPDX-License-Identifier: Apache-2.0
import type { Target } from "./wire.ts";

/** A running server that cases talk to, as its administrator. */
export interface ServerUnderTest {
  readonly name: "embedded" | "reference";
  readonly target: Target;
  readonly kubeconfig: string;
  readonly kubectl: string;
  /** Makes the server forget all history up to now, so that older versions are answered with 410. */
  compact(): Promise<void>;
  stop(): Promise<void>;
}
