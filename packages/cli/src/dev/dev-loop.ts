// SPDX-License-Identifier: Apache-2.0

import { headline, type Plan, planText } from "@purlin/preview";
import { harmless, harmlessLine } from "../harmless.ts";
import type { UpScene } from "../up/run-control-plane.ts";
import { isUserError, textOf } from "../user-error.ts";
import type { DevPreview, Save } from "./dev-preview.ts";

/** When a save is applied: when the user says so, or at once unless it destroys or breaks something. */
export type ApplyPolicy = "ask" | "on-save";

/** What a loop depends on. */
interface DevLoopDeps {
  readonly scene: UpScene;
  readonly preview: DevPreview;
  readonly policy: ApplyPolicy;
  /** Whether a user sees the plan and presses keys. */
  readonly isTerminal: boolean;
  /** Runs the tests of the project; resolves to what to show. */
  readonly runTests?: ((signal: AbortSignal) => Promise<string>) | undefined;
}

/** Previews each save, and applies it when the user or the policy says so. */
export interface DevLoop {
  /** A file was saved: cancels the preview that runs, and starts another after a moment. */
  saved(): void;
  /** The source file of a Function was saved. */
  functionSaved(name: string): void;
  /** Applies what is held. */
  apply(): Promise<void>;
  /** Keeps the control plane as it is until the next save. */
  hold(): void;
  /** Shows the whole plan. */
  details(): void;
  /** 3 when a save is held that nothing asks about, otherwise 0. */
  readonly exitCode: number;
  close(): void;
}

/** Editors save in several steps; what happens within this time is one save. */
const settleMs = 30;
/** Lines of a plan that are shown without being asked for. */
const shownLines = 24;

export const keyHelp = "y apply   n hold   d details   r again   e explain   q quit";

/** Makes a loop. */
export function createDevLoop(deps: DevLoopDeps): DevLoop {
  return new Loop(deps);
}

interface Held {
  readonly save: Save;
  readonly plan: Plan;
}

class Loop implements DevLoop {
  readonly #deps: DevLoopDeps;
  /** Functions of which a source file was saved and not applied yet. */
  readonly #functions = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #running = new AbortController();
  #held: Held | undefined;
  #isRefused = false;
  /** What is being applied: a save meanwhile is compared with the state after it. */
  #applying: Promise<void> = Promise.resolve();

  constructor(deps: DevLoopDeps) {
    this.#deps = deps;
  }

  get exitCode(): number {
    return this.#isRefused ? 3 : 0;
  }

  saved(): void {
    clearTimeout(this.#timer);
    this.#running.abort();
    this.#release();
    this.#timer = setTimeout(() => void this.#look(), settleMs);
  }

  functionSaved(name: string): void {
    this.#functions.add(name);
    this.#deps.preview.saved(name);
    this.saved();
  }

  async apply(): Promise<void> {
    const held = this.#held;
    if (held === undefined) return;
    this.#release();
    await this.#applySave(held.save);
  }

  hold(): void {
    if (this.#held === undefined) return;
    this.#release();
    this.#say("Held: nothing was applied. The next save is previewed together with this one.");
  }

  details(): void {
    if (this.#held !== undefined) this.#say(harmless(planText(this.#held.plan, allOf)));
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#running.abort();
    this.#release();
  }

  #release(): void {
    this.#held = undefined;
    this.#deps.scene.view.prompt("");
  }

  #say(text: string): void {
    this.#deps.scene.view.say(text.trimEnd());
  }

  async #look(): Promise<void> {
    const running = new AbortController();
    this.#running = running;
    const { io, style } = this.#deps.scene;
    const signal = AbortSignal.any([io.signal, running.signal]);
    try {
      await this.#applying;
      signal.throwIfAborted();
      const save = await this.#read();
      if (isEmpty(save)) await this.#keep(save, signal);
      else await this.#previewSave(save, signal);
    } catch (error) {
      // A newer save cancelled it, or the command stops.
      if (signal.aborted) return;
      const text = isUserError(error) ? error.message : textOf(error);
      this.#say(`${style.bad("error:")} ${harmless(text)}\nNothing was applied: save again to retry.`);
    } finally {
      if (this.#running === running && this.#held === undefined) this.#deps.scene.view.prompt("");
    }
  }

  /** Everything that differs from what was applied last. */
  async #read(): Promise<Save> {
    const { files, inventory, options } = this.#deps.scene;
    const changes = await files.read();
    const removed = options.prune === true ? inventory.missingFrom(changes.all, options.paths) : [];
    return { changes, functions: [...this.#functions].sort(), removed };
  }

  /**
   * Nothing to apply: objects that were removed from the files are reported, and stay without --prune. A saved test file, or an input that
   * only tests read, may change what the tests show.
   */
  async #keep(save: Save, signal: AbortSignal): Promise<void> {
    await this.#applySave(save);
    await this.#test(signal);
  }

  /** Runs the tests, and shows their results unless a newer save cancels them. */
  async #test(signal: AbortSignal): Promise<void> {
    const text = await this.#deps.runTests?.(signal);
    if (text !== undefined && !signal.aborted) this.#say(text);
  }

  /** Shows what happens at once, then what follows when composed resources are ready. */
  async #previewSave(save: Save, signal: AbortSignal): Promise<void> {
    const { preview, scene } = this.#deps;
    scene.view.prompt(`Previewing ${titleOf(save).slice(0, -1)}…   q quit`);
    const tests = this.#test(signal);
    const now = await preview.plan(save, undefined, signal);
    signal.throwIfAborted();
    this.#show(titleOf(save), now);
    // What does not respond now would not respond then.
    const later = now.isFinished ? await preview.plan(save, [], signal) : now;
    await tests;
    signal.throwIfAborted();
    if (later.hash !== now.hash) this.#show("When composed resources are ready:", later);
    await this.#decide({ save, plan: later });
  }

  #show(title: string, plan: Plan): void {
    const { style } = this.#deps.scene;
    const text = harmless(planText(plan, { showsUnchanged: false, showsPending: false })).trimEnd();
    if (!this.#deps.isTerminal) {
      this.#say(`${title} ${harmlessLine(headline(plan))}`);
      return;
    }
    const lines = text.split("\n");
    const last = lines.at(-1) ?? "";
    const cut = lines.length - 1 > shownLines ? [...lines.slice(0, shownLines), cutLine(lines, style), last] : lines;
    const problems = plan.errors.map((error) => `${style.bad("error:")} ${harmlessLine(error.text)}`);
    this.#say([style.strong(title), ...cut, ...problems].join("\n"));
  }

  async #decide(held: Held): Promise<void> {
    const { policy, isTerminal } = this.#deps;
    const danger = dangerOf(held.plan);
    if (!hasEffect(held.plan) || (policy === "on-save" && danger === undefined)) return this.#applySave(held.save);
    this.#held = held;
    if (isTerminal) {
      this.#deps.scene.view.prompt(`${danger ?? "Apply?"}   ${keyHelp}`);
      return;
    }
    this.#isRefused = true;
    this.#say(
      policy === "ask"
        ? "held: not applied: without a terminal, only --apply on-save applies saves"
        : `held: not applied: ${danger}: apply it with purlin apply --confirm`,
    );
  }

  #applySave(save: Save): Promise<void> {
    const applied = this.#applyNow(save);
    this.#applying = applied.catch(() => {});
    return applied;
  }

  async #applyNow({ changes, functions }: Save): Promise<void> {
    const { scene, preview } = this.#deps;
    if ((await this.#unseen(functions)).length > 0) return;
    this.#isRefused = false;
    await scene.applier.apply(changes);
    // Applying may take a while: a version that was saved meanwhile is previewed first, too.
    const unseen = await this.#unseen(functions);
    const seen = functions.filter((name) => !unseen.includes(name));
    for (const name of seen) {
      scene.running.processes.get(name)?.reload();
      this.#functions.delete(name);
      this.#say(`${scene.style.good("✓")} Function ${name}: starting its saved version`);
    }
    await preview.applied(seen);
    await scene.refreshTypes();
  }

  /** The Functions that were saved after their preview: they are previewed again. */
  async #unseen(functions: readonly string[]): Promise<readonly string[]> {
    const { preview } = this.#deps;
    const seen = await Promise.all(functions.map((name) => preview.isPreviewed(name)));
    const unseen = functions.filter((_, index) => seen[index] === false);
    for (const name of unseen) {
      this.#say(`Function ${name}: saved after its preview: not applied`);
      this.functionSaved(name);
    }
    return unseen;
  }
}

const allOf = { showsUnchanged: true, showsPending: true };

function cutLine(lines: readonly string[], style: UpScene["style"]): string {
  return style.faint(`… ${lines.length - 1 - shownLines} more lines: press d for all`);
}

function isEmpty({ changes, functions, removed }: Save): boolean {
  return changes.changed.length + functions.length + removed.length === 0;
}

function titleOf({ changes, functions, removed }: Save): string {
  const parts = [
    ...changes.files,
    ...functions.map((name) => `Function ${name}`),
    ...removed.map(({ kind, name }) => `${kind} ${name} removed`),
  ];
  const shown = parts.slice(0, 3).join(", ");
  return `${harmlessLine(parts.length > 3 ? `${shown} and ${parts.length - 3} more` : shown)}:`;
}

/** Why a save is not applied without being asked for; undefined when nothing is lost or broken by it. */
function dangerOf({ summary, errors, composites, findings }: Plan): string | undefined {
  if (summary.destructive > 0) return `Destructive: ${summary.destructive}. Apply?`;
  const failed = errors.length + composites.filter((one) => one.errors.length > 0).length + summary.refused;
  if (failed > 0) return `Failed: ${failed}. Apply?`;
  const breaking = findings.filter(({ level }) => level === "breaking").length;
  return breaking > 0 ? `Breaking: ${breaking}. Apply?` : undefined;
}

function hasEffect(plan: Plan): boolean {
  const { added, modified, removed, refused, destructive } = plan.summary;
  return added + modified + removed + refused + destructive > 0 || dangerOf(plan) !== undefined;
}
