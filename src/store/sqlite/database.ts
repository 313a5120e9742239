import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { EXIT, TouchstonedError } from "../../core/errors.ts";
import { isPoison, named } from "./trouble.ts";

type Maybe<Row> = Row | undefined;

export type Values = Record<string, SQLInputValue>;

/**
 * A thin layer over one connection: statements prepared once, transactions, and errors with names.
 * Everything here is synchronous, so a transaction is never open across an await.
 */
export class Database {
  readonly path: string;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #poison: unknown;

  constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    this.path = path;
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #guarded<T>(work: () => T): T {
    if (this.#poison !== undefined) {
      throw new TouchstonedError({
        code: "store_io",
        exitCode: EXIT.unavailable,
        message: `${this.path} failed before and is not trusted until it is opened anew`,
        hint: "Start again.",
        cause: this.#poison,
      });
    }
    try {
      return work();
    } catch (error) {
      if (isPoison(error)) this.#poison = error;
      throw named(this.path, error);
    }
  }

  all<Row extends object>(sql: string, values: Values = {}): Row[] {
    return this.#guarded(() => this.#statement(sql).all(values) as unknown as Row[]);
  }

  one<Row extends object>(sql: string, values: Values = {}): Maybe<Row> {
    return this.#guarded(() => this.#statement(sql).get(values) as Maybe<Row>);
  }

  /** Number of rows that changed. */
  run(sql: string, values: Values = {}): number {
    return this.#guarded(() => Number(this.#statement(sql).run(values).changes));
  }

  /** Several statements without values. */
  script(sql: string): void {
    this.#guarded(() => this.#db.exec(sql));
  }

  /** An integer setting of the file or the connection. */
  pragma(name: string): number {
    const row = this.one<Record<string, number>>(`PRAGMA ${name}`);
    return Object.values(row ?? {})[0] ?? 0;
  }

  /** One transaction that writes: it takes the write lock first, so it never fails half way. */
  write<T>(work: () => T): T {
    return this.#transaction("BEGIN IMMEDIATE", work);
  }

  /** One transaction that reads, so that all its statements see one state. */
  read<T>(work: () => T): T {
    return this.#transaction("BEGIN", work);
  }

  #transaction<T>(begin: string, work: () => T): T {
    this.script(begin);
    try {
      const result = work();
      this.script("COMMIT");
      return result;
    } catch (error) {
      // SQLite rolls back by itself after some errors; a second time is an error of its own.
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }
}
