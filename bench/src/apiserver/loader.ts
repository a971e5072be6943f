// SPDX-License-Identifier: Apache-2.0
// The process that loads an API server over HTTPS: `node loader.ts ACCESS`, forked; each message to it is a job, each answer its outcome.
import type { Access } from "./access.ts";
import { Http2Client } from "./http2-client.ts";
import type { CreateJob, Job, ListJob, Outcome, WatchJob } from "./jobs.ts";
import { collectionIn, collections, objectOf } from "./objects.ts";
import { timesToEvent } from "./times-to-event.ts";

const access = JSON.parse(process.argv[2] ?? "{}") as Access;
const clients: Http2Client[] = [];

function client(index: number): Http2Client {
  clients[index] ??= new Http2Client(access);
  return clients[index];
}

async function create({ kind, prefix, count, clients: width, namespace = "default" }: CreateJob): Promise<number[]> {
  const path = collectionIn(kind, namespace);
  const bodies = Array.from({ length: count }, (_, i) =>
    Buffer.from(JSON.stringify(objectOf(kind, `${prefix}-${i}`, namespace))),
  );
  // Connected before the clock starts.
  await Promise.all(Array.from({ length: width }, (_, i) => client(i).request("GET", "/version")));
  let next = 0;
  const work = async (_: unknown, index: number): Promise<void> => {
    for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
      const { code } = await client(index).request("POST", path, body);
      if (code !== 201) throw new Error(`creating a ${kind} was answered with ${code}`);
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: width }, work));
  return [(performance.now() - started) / 1000];
}

async function list({ kind, leastBytes }: ListJob): Promise<number[]> {
  await client(0).request("GET", "/version");
  const started = performance.now();
  const { code, bytes } = await client(0).request("GET", collections[kind]);
  const tookMs = performance.now() - started;
  if (code !== 200 || bytes < leastBytes) throw new Error(`the list was answered with ${code} and ${bytes} bytes`);
  return [tookMs];
}

const watch = (job: WatchJob): Promise<number[]> => timesToEvent({ writer: client(0), watcher: client(1) }, job);

async function run(job: Job): Promise<Outcome> {
  try {
    const numbers = job.job === "create" ? create(job) : job.job === "list" ? list(job) : watch(job);
    return { numbers: await numbers };
  } catch (error) {
    return { error: String(error) };
  }
}

process.on("message", (job: Job) => void run(job).then((outcome) => process.send?.(outcome)));
