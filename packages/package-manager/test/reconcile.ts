// SPDX-License-Identifier: Apache-2.0
// One reconcile of one object, as the controllers of packages run it.
import {
  createReconciler,
  type ReconcileContext,
  type ReconcileResult,
  type ReconcilerDefinition,
} from "@purlin/kube-controller";
import type { ObjectKey } from "@purlin/kube-objects/object";
import { lockName } from "../src/lock/lock-store.ts";
import { lockReconciler } from "../src/lock/reconciler.ts";
import { packageReconciler } from "../src/manager/reconciler.ts";
import { revisionReconciler } from "../src/revision/reconciler.ts";
import { runtimeReconciler } from "../src/runtime/reconciler.ts";

/** Which object to reconcile, and for how long. */
interface ReconcileCall {
  readonly key: ObjectKey;
  readonly stopping: AbortSignal;
  readonly timeoutMs?: number | undefined;
}

function run<C extends ReconcileContext>(
  definition: ReconcilerDefinition<C>,
  { key, stopping, timeoutMs = definition.timeoutMs }: ReconcileCall,
): Promise<ReconcileResult> {
  return createReconciler({ ...definition, timeoutMs })(key, stopping);
}

export function reconcilePackage(
  deps: Parameters<typeof packageReconciler>[0],
  type: Parameters<typeof packageReconciler>[1],
  call: ReconcileCall,
): Promise<ReconcileResult> {
  return run(packageReconciler(deps, type), call);
}

export function reconcileRevision(
  deps: Parameters<typeof revisionReconciler>[0],
  type: Parameters<typeof revisionReconciler>[1],
  call: ReconcileCall,
): Promise<ReconcileResult> {
  return run(revisionReconciler(deps, type), call);
}

export function reconcileLock(
  deps: Parameters<typeof lockReconciler>[0],
  options: Parameters<typeof lockReconciler>[1],
  call: Omit<ReconcileCall, "key">,
): Promise<ReconcileResult> {
  return run(lockReconciler(deps, options), { ...call, key: { name: lockName } });
}

export function reconcileRuntime(
  deps: Parameters<typeof runtimeReconciler>[0],
  runtime: Parameters<typeof runtimeReconciler>[1],
  call: ReconcileCall,
): Promise<ReconcileResult> {
  return run(runtimeReconciler(deps, runtime), call);
}
