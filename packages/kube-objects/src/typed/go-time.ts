// SPDX-License-Identifier: Apache-2.0
// Times as Go's parser reads them, which takes more than RFC 3339 has and says exactly what it could not take.
import { goQuote } from "../json/go-text.ts";
import { TypedFormError } from "./typed-error.ts";

/** A time of the past or the future, in UTC. */
interface GoTime {
  /** Up to the seconds: `2006-01-02T15:04:05`. */
  readonly seconds: string;
  /** The first six digits of the fraction; none for a layout without one. */
  readonly micros: string;
}

const layouts = { seconds: "2006-01-02T15:04:05Z07:00", micros: "2006-01-02T15:04:05.000000Z07:00" } as const;

/** Reads a time in one of the layouts of the reference. Throws a TypedFormError in the words of Go. */
export function parseGoTime(text: string, precision: keyof typeof layouts): GoTime {
  return new Parser(text, precision).time();
}

class Parser {
  readonly #text: string;
  readonly #precision: keyof typeof layouts;
  #rest: string;

  constructor(text: string, precision: keyof typeof layouts) {
    this.#text = text;
    this.#rest = text;
    this.#precision = precision;
  }

  time(): GoTime {
    const year = this.#take(/^\d{4}/, "2006");
    this.#literal("-");
    const month = this.#inRange(this.#take(/^\d\d/, "01"), "month", { least: 1, most: 12 });
    this.#literal("-");
    const day = this.#take(/^\d\d/, "02");
    this.#literal("T");
    const hour = this.#inRange(this.#take(/^\d\d?/, "15"), "hour", { most: 23 });
    this.#literal(":");
    const minute = this.#inRange(this.#take(/^\d\d/, "04"), "minute", { most: 59 });
    this.#literal(":");
    const second = this.#inRange(this.#take(/^\d\d/, "05"), "second", { most: 59 });
    const micros = this.#fraction();
    const offset = this.#offset();
    if (this.#rest !== "") throw this.#failed(`extra text: ${goQuote(this.#rest)}`);
    if (Number(day) < 1 || Number(day) > daysIn(Number(year), month)) throw this.#failed("day out of range");
    const date = new Date(0);
    date.setUTCFullYear(Number(year), month - 1, Number(day));
    date.setUTCHours(hour, minute - offset, second);
    return { seconds: date.toISOString().slice(0, 19), micros };
  }

  /** A fraction is read past where the layout has none. */
  #fraction(): string {
    if (this.#precision === "micros") return this.#take(/^[.,]\d{6}/, ".000000").slice(1);
    this.#rest = this.#rest.replace(/^[.,]\d+/, "");
    return "";
  }

  /** Minutes east of Greenwich. */
  #offset(): number {
    const zone = this.#take(/^(Z|[-+]\d\d:\d\d)/, "Z07:00");
    if (zone === "Z") return 0;
    const hours = this.#inRange(zone.slice(1, 3), "time zone offset hour", { most: 24 });
    const minutes = this.#inRange(zone.slice(4), "time zone offset minute", { most: 60 });
    return (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes);
  }

  #literal(text: string): void {
    if (!this.#rest.startsWith(text)) throw this.#unparsed(text);
    this.#rest = this.#rest.slice(text.length);
  }

  #take(pattern: RegExp, element: string): string {
    const found = pattern.exec(this.#rest)?.[0];
    if (found === undefined) throw this.#unparsed(element);
    this.#rest = this.#rest.slice(found.length);
    return found;
  }

  #inRange(
    digits: string,
    name: string,
    { least = 0, most }: { readonly least?: number; readonly most: number },
  ): number {
    const value = Number(digits);
    if (value < least || value > most) throw this.#failed(`${name} out of range`);
    return value;
  }

  #unparsed(element: string): TypedFormError {
    const layout = goQuote(layouts[this.#precision]);
    const why = `cannot parse ${goQuote(this.#rest)} as ${goQuote(element)}`;
    return new TypedFormError(`parsing time ${goQuote(this.#text)} as ${layout}: ${why}`);
  }

  #failed(why: string): TypedFormError {
    return new TypedFormError(`parsing time ${goQuote(this.#text)}: ${why}`);
  }
}

function daysIn(year: number, month: number): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month, 0);
  return date.getUTCDate();
}
