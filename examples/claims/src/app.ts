// SPDX-License-Identifier: Apache-2.0
// Makes an App: its settings, a login, and a database, which is a composite resource as well.
import { randomBytes } from "node:crypto";
import {
  type FunctionHandler,
  type RunFunctionRequest,
  type RunFunctionResponse,
  request,
  resource,
  response,
} from "@purlin/function-sdk";

const megabytes: Readonly<Record<string, number>> = { small: 512, large: 8192 };

export const fn: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  const app = request.getObservedCompositeResource(req).resource;
  const name = app.getString("spec.claimRef.name", app.name);
  const namespace = app.getString("spec.claimRef.namespace", "default");

  const observed = request.getObservedComposedResources(req);
  const database = observed.get("database")?.resource;
  setDatabaseReady(rsp, resource.isReady(database));

  const image = findImage(req, rsp, app.getString("spec.image"));
  if (image === undefined) return rsp;

  const host = database?.getString("status.host", "") ?? "";
  response.setDesiredComposedResource(
    rsp,
    "database",
    {
      apiVersion: "claims.example.org/v1",
      kind: "XDatabase",
      spec: { namespace, megabytes: megabytes[app.getString("spec.size", "small")] ?? 512 },
    },
    { ready: resource.isReady(database) },
  );

  response.setDesiredComposedResource(
    rsp,
    "settings",
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: `${name}-settings`, namespace },
      data: { image, database: host === "" ? "not known yet" : host },
    },
    { ready: observed.has("settings") && host !== "" },
  );
  response.setDesiredComposedResource(
    rsp,
    "login",
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: `${name}-login`, namespace },
      data: {
        user: base64(name),
        // Generated once: an existing password is kept.
        password:
          observed.get("login")?.resource.getString("data.password", "") || base64(randomBytes(12).toString("hex")),
      },
    },
    { ready: observed.has("login") },
  );
  response.setDesiredCompositeStatus(rsp, { url: `https://${name}.${namespace}.example.org` });
  return rsp;
};

export default fn;

/** Looks up an image in the catalog. Only the user can correct an unknown image, so a condition of the claim says what is wrong. */
function findImage(req: RunFunctionRequest, rsp: RunFunctionResponse, wanted: string): string | undefined {
  response.requireResources(rsp, "catalog", {
    apiVersion: "v1",
    kind: "ConfigMap",
    namespace: "default",
    matchName: "image-catalog",
  });
  const catalog = request.lookupRequiredResources(req, "catalog");
  // Required for the first time: the control plane calls again with the object.
  if (!catalog.resolved) return undefined;
  const images = catalog.items[0]?.resource.object["data"] as Record<string, string> | undefined;
  const image = images?.[wanted];
  if (image !== undefined) {
    response.conditionTrue(rsp, "ImageFound", "Available").targetCompositeAndClaim();
    return image;
  }
  const known =
    Object.keys(images ?? {})
      .sort()
      .join(", ") || "none";
  response
    .fatal(rsp, `There is no image "${wanted}". The catalog has: ${known}.`)
    .conditionFalse("ImageFound", "NotFound")
    .targetCompositeAndClaim();
  return undefined;
}

function setDatabaseReady(rsp: RunFunctionResponse, isReady: boolean): void {
  if (isReady) response.conditionTrue(rsp, "DatabaseReady", "Available").targetCompositeAndClaim();
  else response.conditionFalse(rsp, "DatabaseReady", "Creating").targetCompositeAndClaim();
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
