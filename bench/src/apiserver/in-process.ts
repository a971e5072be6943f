// SPDX-License-Identifier: Apache-2.0
// The embedded server with its clients in the same process: `node in-process.ts BUILT DIRECTORY`, forked; each message is a job.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as ApiServer from "@purlin/kube-apiserver";
import type * as KubeBuiltin from "@purlin/kube-builtin";
import type * as KubeClient from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { CreateJob, Outcome } from "./jobs.ts";
import { objectOf, widgetDefinition } from "./objects.ts";

const [built = "", directory = ""] = process.argv.slice(2);

async function load<T>(name: string): Promise<T> {
  return (await import(pathToFileURL(join(built, "node_modules/@purlin", name, "dist/index.js")).href)) as T;
}

const { mastersGroup, startApiServer } = await load<typeof ApiServer>("kube-apiserver");
const { builtinKinds } = await load<typeof KubeBuiltin>("kube-builtin");
const { createDirectTransport, createKubeClient } = await load<typeof KubeClient>("kube-client");
const server = await startApiServer({ kinds: builtinKinds, directory });
const user = { name: "bench", groups: [mastersGroup] };
const client = createKubeClient(createDirectTransport(server.handle, user as ApiServer.User));
const asObject = (object: object): KubeObject => object as KubeObject;
await client.create(asObject(widgetDefinition));

async function create({ kind, prefix, count, clients }: CreateJob): Promise<number[]> {
  const objects = Array.from({ length: count }, (_, i) => asObject(objectOf(kind, `${prefix}-${i}`)));
  let next = 0;
  const work = async (): Promise<void> => {
    for (let object = objects[next++]; object !== undefined; object = objects[next++]) await client.create(object);
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: clients }, work));
  return [(performance.now() - started) / 1000];
}

async function run(job: CreateJob): Promise<Outcome> {
  try {
    return { numbers: await create(job) };
  } catch (error) {
    return { error: String(error) };
  }
}

process.on("message", (job: CreateJob) => void run(job).then((outcome) => process.send?.(outcome)));
process.on("SIGTERM", () => void server.close().then(() => process.exit(0)));
