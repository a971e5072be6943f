// SPDX-License-Identifier: Apache-2.0
import {
  Capability,
  checkObject,
  type JsonObject,
  type RunFunctionRequest,
  type RunFunctionResponse,
  request,
  response,
} from "@purlin/function-sdk";

/** The schema of Deployments, or why it is missing. */
export type DeploymentSchema = request.SchemaLookup | { readonly state: "unsupported" };

/** Asks for the schema of Deployments where the control plane can be asked. */
export function askForDeploymentSchema(req: RunFunctionRequest, rsp: RunFunctionResponse): DeploymentSchema {
  if (!request.hasCapability(req, Capability.CAPABILITY_REQUIRED_SCHEMAS)) return { state: "unsupported" };
  response.requireSchema(rsp, "deployment", "apps/v1", "Deployment");
  return request.lookupRequiredSchema(req, "deployment");
}

/**
 * Whether a Deployment is good to go. Without a schema it goes unchecked, with a warning. One that the API server would
 * refuse stops the pipeline: the platform team sees what is wrong, the claim's user that it is not their fault.
 */
export function checkDeployment(rsp: RunFunctionResponse, deployment: JsonObject, lookup: DeploymentSchema): boolean {
  if (lookup.state !== "found") {
    const why = lookup.state === "absent" ? "has no schema for it" : "does not support required schemas";
    response.warning(rsp, `The Deployment was not checked: this control plane ${why}.`);
    return true;
  }
  const problems = checkObject(lookup.schema, deployment);
  if (problems.length === 0) return true;
  response
    .warning(rsp, "Internal error: the platform team has been notified.")
    .conditionFalse("AppReady", "InternalError")
    .targetCompositeAndClaim();
  response.fatal(rsp, `The Deployment does not fit its schema: ${problems.join("; ")}`);
  return false;
}
