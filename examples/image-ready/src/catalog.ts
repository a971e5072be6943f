// SPDX-License-Identifier: Apache-2.0
import {
  Capability,
  type RequiredResource,
  type ResourceSelection,
  type RunFunctionRequest,
  type RunFunctionResponse,
  request,
  response,
} from "@purlin/function-sdk";
import type { App } from "./app.ts";

/** What the platform knows of the database and the image an app names. */
export interface Catalog {
  readonly database: RequiredResource | undefined;
  readonly image: RequiredResource | undefined;
}

/**
 * Asks for the database and the image. Undefined when the control plane has not looked yet: the function is called again
 * with the answers, and it has to ask for the same again.
 */
export function askForCatalog(req: RunFunctionRequest, rsp: RunFunctionResponse, app: App): Catalog | undefined {
  const database = ask({ req, rsp }, "database", {
    apiVersion: "data.example.org/v1",
    kind: "Database",
    matchName: app.database,
  });
  const image = ask({ req, rsp }, "image", {
    apiVersion: "registry.example.org/v1",
    kind: "Image",
    matchName: imageName(app.image),
  });
  return database === undefined || image === undefined ? undefined : { database: database[0], image: image[0] };
}

/** Control planes before 2.2 do not say what they can do; all of them know the older way of asking. */
function ask(
  { req, rsp }: { readonly req: RunFunctionRequest; readonly rsp: RunFunctionResponse },
  name: string,
  selection: ResourceSelection,
): readonly RequiredResource[] | undefined {
  if (!request.hasCapability(req, Capability.CAPABILITY_REQUIRED_RESOURCES)) {
    response.requireExtraResources(rsp, name, selection);
    return request.allExtraResources(req).get(name);
  }
  response.requireResources(rsp, name, selection);
  return request.allRequiredResources(req).get(name);
}

/** The catalogue lists team/app:v1 as team-app-v1, since names of objects have neither slash nor colon. */
function imageName(reference: string): string {
  return reference.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
}

/** Whether something of the catalogue exists and is open to a namespace. */
export function isOpenTo(entry: RequiredResource | undefined, namespace: string): entry is RequiredResource {
  if (entry === undefined) return false;
  const { resource } = entry;
  return !resource.has("spec.namespaces") || resource.getStringArray("spec.namespaces").includes(namespace);
}
