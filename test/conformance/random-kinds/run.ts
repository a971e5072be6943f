// SPDX-License-Identifier: Apache-2.0
// Sends random requests for every built-in kind to both servers and collects the answers that differ.
import { isDeepStrictEqual } from "node:util";
import { parseJson, printJson } from "@purlin/kube-objects/json";
import { createRandom, type Random } from "../../fuzz/engine/random.ts";
import { compareTranscripts, type Difference } from "../harness/compare.ts";
import { startEmbedded } from "../harness/embedded-server.ts";
import type { Loose } from "../harness/loose.ts";
import { startReference } from "../harness/reference-server.ts";
import type { ServerUnderTest } from "../harness/server-under-test.ts";
import { type Answer, Session } from "../harness/session.ts";
import { type Mutation, mutate } from "./mutate.ts";
import { limitedNamespace, readSamples, type Sample } from "./samples.ts";

/** How much to ask, and from which seed. */
export interface RandomKindsOptions {
  readonly seed: number;
  readonly requests: number;
  /** Parts of kinds' names; all kinds when empty. */
  readonly kinds?: readonly string[];
  readonly referenceOnly?: boolean;
}

/** A request that the servers answer differently. */
export interface Finding {
  readonly number: number;
  readonly title: string;
  readonly mutations: readonly Mutation[];
  readonly differences: readonly Difference[];
  readonly ours: Loose;
  readonly theirs: Loose;
}

const namespace = "default";
const atOnce = 8;

/** Starts both servers and compares their answers to random requests. */
export async function compareRandomKinds(options: RandomKindsOptions): Promise<Finding[]> {
  const servers = await Promise.all([options.referenceOnly ? startReference() : startEmbedded(), startReference()]);
  try {
    return await compareOn(servers, options);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

async function compareOn(servers: readonly ServerUnderTest[], options: RandomKindsOptions): Promise<Finding[]> {
  const [embedded] = servers as [ServerUnderTest];
  const [ours, theirs] = servers.map((server) => new Session(server, namespace)) as [Session, Session];
  await Promise.all([ours, theirs].map(createNamespace));
  const all = await readSamples(theirs);
  const isWanted = ({ title }: Sample): boolean => (options.kinds ?? [""]).some((part) => title.includes(part));
  const samples = all.filter(isWanted);
  // One after the other: a default class changes what is created after it.
  const existing: Existing[] = [];
  for (const sample of samples) existing.push(await createOnBoth(sample, ours, theirs));
  const findings: Finding[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let number = next++; number < options.requests; number = next++) {
      const index = number % samples.length;
      const random = createRandom(Math.imul(options.seed, 1_000_003) + number);
      const asked = randomRequest(random, samples[index] as Sample, existing[index] as Existing);
      const finding = await askBoth(servers, asked).catch(async (error: NodeJS.ErrnoException) => {
        // The reference panics over a few requests and closes the connection, such as for a CronJob with an Indexed Job that has a success
        // policy and no completions. Ours has to answer.
        if (error.code !== "ECONNRESET") throw error;
        await askBoth([embedded, embedded], asked);
        return undefined;
      });
      if (finding) findings.push({ number, ...finding });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return findings.toSorted((a, b) => a.number - b.number);
}

async function createNamespace(session: Session): Promise<void> {
  const metadata = { name: limitedNamespace };
  await session.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
  await session.until(account, ({ code }) => code === 200);
}

/** The object that updates change, as each server returned it. */
type Existing = readonly Loose[];

async function createOnBoth(sample: Sample, ...sessions: readonly Session[]): Promise<Existing> {
  const { object, collection, title } = sample;
  const path = `${collection}/${object.metadata.name}`;
  const created = await Promise.all(sessions.map((session) => created1(session, { collection, path, object })));
  for (const { code, text } of created) {
    if (code >= 300) throw new Error(`the sample of ${title} was refused: ${text}`);
  }
  const [mine, other] = created.map(({ body }) => body);
  if (object.kind !== "ResourceQuota") return [mine, other].map(withoutServerFields);
  const written = await writtenByController(sessions[1], path, { ...other, status: mine.status });
  return [mine, written].map(withoutServerFields);
}

/** The reference runs without the controller of quotas, which writes a status such as the embedded server shows. */
async function writtenByController(session: Session | undefined, path: string, quota: Loose): Promise<Loose> {
  const answer = await session?.put(`${path}/status?fieldManager=${quotaController}`, quota, { quiet: true });
  if (answer?.code !== 200) throw new Error(`the status of the quota was refused: ${answer?.text}`);
  return answer.body;
}

const quotaController = "quota-controller";

function withoutServerFields(object: Loose): Loose {
  const {
    uid: _uid,
    creationTimestamp: _time,
    generation: _generation,
    managedFields: _fields,
    ...metadata
  } = object.metadata;
  return { ...object, metadata };
}

async function created1(
  session: Session,
  { collection, path, object }: { readonly collection: string; readonly path: string; readonly object: Loose },
): Promise<Answer> {
  const answer = await session.post(collection, object, { quiet: true });
  return answer.code === 409 ? await session.get(path, { quiet: true }) : answer;
}

/** A request with the same meaning for both servers. */
interface RandomRequest {
  readonly title: string;
  readonly mutations: readonly Mutation[];
  readonly method: "POST" | "PUT";
  readonly path: string;
  readonly body: (server: number) => Loose;
}

/** Events expire, and a controller of the reference writes the status of FlowSchemas: their versions change. */
const changedByServer = new Set(["Event", "FlowSchema", "PriorityLevelConfiguration"]);

function randomRequest(random: Random, sample: Sample, existing: Existing): RandomRequest {
  const kind = random.below(10);
  if (kind < 5 || changedByServer.has(sample.object.kind)) return randomCreate(random, sample);
  const subresource = kind >= 8 && sample.subresources.includes("status") ? "status" : "";
  const suffix = subresource === "" ? "" : `/${subresource}`;
  const schema = subresource === "" ? sample.schema : (sample.schema.properties?.status ?? {});
  const seed = random.below(2 ** 31);
  // Both objects have the same fields, so the same seed changes the same ones.
  const isSame = isDeepStrictEqual(...(existing.map(ownPart) as [Loose, Loose]));
  const changed = existing.map((object) => changedObject(object, { schema, subresource, seed }));
  return {
    title: `PUT${suffix} ${sample.title}`,
    mutations: changed[1]?.mutations ?? [],
    method: "PUT",
    path: `${sample.collection}/${sample.object.metadata.name}${suffix}?dryRun=All`,
    // What one has and the other has not, such as a status, must not make different requests.
    body: (server) => ({
      ...changed[isSame ? 1 : server]?.object,
      metadata: changed[server]?.object.metadata,
      ...(subresource !== "" && { [subresource]: changed[1]?.object[subresource] }),
    }),
  };
}

/** What clients write of an object, without what each server chooses. */
function ownPart({ metadata: _metadata, status: _status, ...rest }: Loose): Loose {
  return rest;
}

interface Change {
  readonly schema: Loose;
  readonly subresource: string;
  readonly seed: number;
}

function changedObject(
  existing: Loose,
  { schema, subresource, seed }: Change,
): { object: Loose; mutations: Mutation[] } {
  const object = structuredClone(existing);
  if (subresource !== "") object[subresource] ??= {};
  const part = subresource === "" ? object : object[subresource];
  return { object, mutations: mutateSome(createRandom(seed), part, schema) };
}

function randomCreate(random: Random, sample: Sample): RandomRequest {
  const object = structuredClone(sample.object);
  if (object.kind !== "IPAddress") object.metadata.name = "new";
  const mutations = mutateSome(random, object, sample.schema);
  const strict = random.below(10) === 0 ? "&fieldValidation=Strict" : "";
  return {
    title: `POST ${sample.title}`,
    mutations,
    method: "POST",
    path: `${sample.collection}?dryRun=All${strict}`,
    body: () => object,
  };
}

function mutateSome(random: Random, object: Loose, schema: Loose): Mutation[] {
  return Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () => mutate(random, object, schema));
}

async function askBoth(
  servers: readonly ServerUnderTest[],
  asked: RandomRequest,
): Promise<Omit<Finding, "number"> | undefined> {
  const { title, mutations, method, path, body } = asked;
  const sessions = servers.map((server) => new Session(server, namespace));
  await Promise.all(sessions.map((session, n) => session.ask(method, path, body(n), { title, part: withoutChoices })));
  const [ours, theirs] = sessions.map(({ transcript }) => transcript) as [Session["transcript"], Session["transcript"]];
  const differences = compareTranscripts(ours, theirs);
  return differences.length === 0
    ? undefined
    : { title, mutations, differences, ours: ours[0]?.answer, theirs: theirs[0]?.answer };
}

/** The reference distinguishes empty and missing lists in some errors. */
const emptyText = (text: string): string =>
  text
    .replaceAll(/(Invalid|Unsupported) value: (?:null|""|\[\]|\{\}):/g, "$1 value: <empty>:")
    .replaceAll(/"(\w+)": ?(?:null|\[\]|\{\})/g, '"$1":<empty>')
    .replaceAll(/"(?:10\.0|192\.168)\.\d+\.\d+"/g, '"<address>"');
const withoutEmptiness = (cause: Loose): Loose => ({ ...cause, message: emptyText(cause.message) });

/** The reference validates some objects twice, and then lists causes twice. */
function withUniqueCauses(body: Loose): Loose {
  const causes = new Map(body.details.causes.map((one: Loose) => [JSON.stringify(one), withoutEmptiness(one)]));
  const message = emptyText(body.message);
  return { ...body, message, details: { ...body.details, causes: [...causes.values()] } };
}

/** Addresses, ports and names that each server chooses. */
function withoutChoices(whole: Loose): Loose {
  const body = whole.kind === "ResourceQuota" ? withoutController(whole) : whole;
  if (body.details?.causes !== undefined) return withUniqueCauses(body);
  if (body.kind === "Status") return { ...body, message: body.message?.replace(/ 3[0-2]\d{3}\}$/, " <port>}") };
  if (body.spec === undefined || !chosen.has(body.kind)) return body;
  const text = printJson(body.spec)
    // One of the samples adds a range to those of the reference.
    .replaceAll(/"(?:10\.0|192\.168)\.\d+\.\d+"/g, '"<address>"')
    .replaceAll(/("(?:nodePort|healthCheckNodePort)":)3[0-2]\d{3}/g, '$1"<port>"')
    .replaceAll(/X509SHA256=[0-9a-f]+/g, "X509SHA256=<digest>")
    .replaceAll(/kube-api-access-[a-z0-9]{5}/g, "kube-api-access-<name>");
  return { ...body, spec: parseJson(text) };
}

function withoutController(quota: Loose): Loose {
  const { managedFields, ...metadata } = quota.metadata;
  const kept = managedFields?.filter(({ manager }: Loose) => manager !== quotaController);
  return { ...quota, metadata: { ...metadata, ...(kept?.length > 0 && { managedFields: kept }) } };
}

const chosen = new Set(["Service", "Pod", "CertificateSigningRequest"]);
