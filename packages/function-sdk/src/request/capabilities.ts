// SPDX-License-Identifier: Apache-2.0
import { Capability, type RunFunctionRequest } from "@purlin/function-protocol";

/** What a function can know about a capability of the control plane that calls it. */
export type CapabilitySupport = "supported" | "unsupported" | "unknown";

/** True when the control plane says that it supports a capability. False also for one too old to say. */
export function hasCapability(req: RunFunctionRequest, capability: Capability): boolean {
  return req.meta?.capabilities.includes(capability) ?? false;
}

/** True when the control plane lists what it supports, so that a capability it does not list is one it lacks. */
export function advertisesCapabilities(req: RunFunctionRequest): boolean {
  return hasCapability(req, Capability.CAPABILITY_CAPABILITIES);
}

/**
 * `supported` when listed, `unsupported` when the list is complete and lacks it, `unknown` when the control plane
 * predates such lists: the feature may work there.
 */
export function capabilitySupport(req: RunFunctionRequest, capability: Capability): CapabilitySupport {
  if (hasCapability(req, capability)) return "supported";
  return advertisesCapabilities(req) ? "unsupported" : "unknown";
}
