// SPDX-License-Identifier: Apache-2.0
import { type FunctionHandler, type RunFunctionResponse, request, response, result } from "@purlin/function-sdk";
import { type App, readApp } from "./app.ts";
import { askForCatalog, type Catalog, isOpenTo } from "./catalog.ts";
import { deploymentOf, isServing } from "./deployment.ts";
import { askForDeploymentSchema, checkDeployment } from "./deployment-schema.ts";

/**
 * Runs an image with access to a database that exists, and reports its progress to the claim's user: whether
 * they may use the database, whether the image is there, whether the app is available.
 */
export const fn: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  const app = readApp(request.getObservedCompositeResource(req).resource);
  const catalog = askForCatalog(req, rsp, app);
  const schema = askForDeploymentSchema(req, rsp);
  // Asked for just now: the control plane calls again with the answers, so this response is not the last.
  if (catalog === undefined || schema.state === "pending") return rsp;

  const secret = checkDatabase(rsp, app, catalog);
  if (secret === undefined || !checkImage(rsp, app, catalog)) return rsp;

  const deployment = deploymentOf(app, secret);
  if (!checkDeployment(rsp, deployment, schema)) return rsp;

  const serving = isServing(request.getObservedComposedResources(req).get("app")?.resource, app);
  response.setDesiredComposedResource(rsp, "app", deployment, { ready: serving });
  reportAppReady(rsp, serving);
  return rsp;
};

export default fn;

/** The Secret with the database's credentials; undefined when the user may not have it. */
function checkDatabase(rsp: RunFunctionResponse, app: App, { database }: Catalog): string | undefined {
  if (!isOpenTo(database, app.namespace)) {
    const refused = result
      .fatal("You are unauthorized to access this resource.")
      .targetCompositeAndClaim()
      .withConditionFalse("DatabaseReady", "Unauthorized")
      .build();
    response.addResult(rsp, refused);
    return undefined;
  }
  response.conditionTrue(rsp, "DatabaseReady", "Available").targetCompositeAndClaim();
  return database.resource.getString("spec.credentialsSecret");
}

function checkImage(rsp: RunFunctionResponse, app: App, { image }: Catalog): boolean {
  if (!isOpenTo(image, app.namespace)) {
    response
      .fatal(rsp, "The image provided does not exist or you are not authorized to use it.")
      .conditionFalse("ImageReady", "NotFound")
      .targetCompositeAndClaim();
    return false;
  }
  response.conditionTrue(rsp, "ImageReady", "Available").targetCompositeAndClaim();
  return true;
}

function reportAppReady(rsp: RunFunctionResponse, serving: boolean): void {
  if (serving) {
    response.conditionTrue(rsp, "AppReady", "Available").targetCompositeAndClaim();
    return;
  }
  response
    .conditionFalse(rsp, "AppReady", "Creating")
    .withMessage("Waiting for the deployment to be available.")
    .targetCompositeAndClaim();
}
