//! A connection through libpq, made safe: plain SQL, prepared statements with binary parameters and
//! results, and COPY. The only file here with unsafe code. The crate `postgres` runs an
//! event loop under each query, whose switches of context would be part of times of microseconds.

use std::error::Error;
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::{null, null_mut};

use pq_sys::*;

pub type Outcome<T> = Result<T, Box<dyn Error>>;

pub struct Client(*mut PGconn);

/// A statement that the server has prepared.
pub struct PreparedStatement(CString);

/// What a query returned; freed when dropped.
pub struct Answer(*mut PGresult);

/// A parameter in the binary form of its type.
pub type Parameter = Vec<u8>;

pub fn bigint(value: u64) -> Parameter {
    value.to_be_bytes().to_vec()
}

/// An int4[]: dimensions, no NULLs, type OID, length, lower bound, elements.
pub fn int_array(values: &[u32]) -> Parameter {
    let head = [1, 0, 23, values.len() as u32, 1];
    let elements = values.iter().flat_map(|v| [4, *v]);
    head.into_iter()
        .chain(elements)
        .flat_map(u32::to_be_bytes)
        .collect()
}

impl Client {
    /// Connects as the environment says (PGHOST, PGUSER, ...).
    pub fn connect() -> Outcome<Client> {
        // SAFETY: the argument is a C string; libpq always returns a connection or null.
        let client = Client(unsafe { PQconnectdb(c"".as_ptr()) });
        // SAFETY: PQstatus accepts null, which is a bad connection.
        if unsafe { PQstatus(client.0) } != ConnStatusType::CONNECTION_OK {
            return Err(client.message().into());
        }
        Ok(client)
    }

    /// The process of the server that this connection has.
    pub fn backend(&self) -> i32 {
        // SAFETY: PQbackendPID accepts any connection.
        unsafe { PQbackendPID(self.0) }
    }

    fn message(&self) -> String {
        // SAFETY: PQerrorMessage accepts any connection and returns a C string that it owns.
        let text = unsafe { CStr::from_ptr(PQerrorMessage(self.0)) };
        text.to_string_lossy().trim_end().to_owned()
    }

    fn checked(&self, raw: *mut PGresult, sql: &str) -> Outcome<Answer> {
        let answer = Answer(raw);
        // SAFETY: PQresultStatus accepts null, which is a fatal error.
        match unsafe { PQresultStatus(raw) } {
            ExecStatusType::PGRES_COMMAND_OK
            | ExecStatusType::PGRES_TUPLES_OK
            | ExecStatusType::PGRES_COPY_IN => Ok(answer),
            _ => Err(format!("{} in: {}", self.message(), start_of(sql)).into()),
        }
    }

    /// Runs plain SQL, results in text form.
    pub fn run(&self, sql: &str) -> Outcome<Answer> {
        let text = CString::new(sql)?;
        // SAFETY: the connection is open and the text a C string.
        self.checked(unsafe { PQexec(self.0, text.as_ptr()) }, sql)
    }

    /// The first column of the first row as a number.
    pub fn number(&self, sql: &str) -> Outcome<f64> {
        let answer = self.run(sql)?;
        let text = answer.text(0, 0).ok_or("no row")?;
        text.parse()
            .map_err(|_| format!("not a number: {text}").into())
    }

    pub fn prepare(&self, name: &str, sql: &str) -> Outcome<PreparedStatement> {
        let (name, text) = (CString::new(name)?, CString::new(sql)?);
        // SAFETY: the connection is open, both are C strings, and no types are given.
        let raw = unsafe { PQprepare(self.0, name.as_ptr(), text.as_ptr(), 0, null()) };
        self.checked(raw, sql)?;
        Ok(PreparedStatement(name))
    }

    /// Executes a prepared statement, parameters and results in binary form.
    pub fn execute(
        &self,
        statement: &PreparedStatement,
        parameters: &[Parameter],
    ) -> Outcome<Answer> {
        let mut values = [null::<c_char>(); 8];
        let (mut lengths, formats) = ([0 as c_int; 8], [1 as c_int; 8]);
        let count = parameters.len().min(values.len());
        for (i, parameter) in parameters[..count].iter().enumerate() {
            values[i] = parameter.as_ptr().cast();
            lengths[i] = parameter.len() as c_int;
        }
        // SAFETY: the connection is open, and the first `count` values, lengths and formats are
        // set.
        let raw = unsafe {
            PQexecPrepared(
                self.0,
                statement.0.as_ptr(),
                count as c_int,
                values.as_ptr(),
                lengths.as_ptr(),
                formats.as_ptr(),
                1,
            )
        };
        self.checked(raw, "a prepared statement")
    }

    /// COPY ... FROM STDIN: `rows` are lines in its text form, any number of them in a piece.
    pub fn copy(&self, sql: &str, pieces: impl Iterator<Item = String>) -> Outcome<()> {
        self.run(sql)?;
        for piece in pieces {
            let length = c_int::try_from(piece.len())?;
            // SAFETY: the connection is in COPY IN state and the buffer as long as said.
            if unsafe { PQputCopyData(self.0, piece.as_ptr().cast(), length) } != 1 {
                return Err(self.message().into());
            }
        }
        // SAFETY: as above; a null message ends the COPY with success.
        if unsafe { PQputCopyEnd(self.0, null()) } != 1 {
            return Err(self.message().into());
        }
        loop {
            // SAFETY: the connection is open; null says that nothing is left to read.
            let raw = unsafe { PQgetResult(self.0) };
            if raw.is_null() {
                return Ok(());
            }
            self.checked(raw, sql)?;
        }
    }
}

fn start_of(sql: &str) -> String {
    sql.chars().take(200).collect()
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: the connection is ours, and never used again.
        unsafe { PQfinish(self.0) };
        self.0 = null_mut();
    }
}

impl Answer {
    pub fn len(&self) -> usize {
        // SAFETY: the result is ours and not null, or it would not have passed `checked`.
        unsafe { PQntuples(self.0) as usize }
    }

    fn bytes(&self, row: usize, column: usize) -> Option<&[u8]> {
        let (row, column) = (row as c_int, column as c_int);
        // SAFETY: libpq checks row and column itself; the value lives as long as the result.
        unsafe {
            if row >= PQntuples(self.0) || PQgetisnull(self.0, row, column) == 1 {
                return None;
            }
            let length = PQgetlength(self.0, row, column) as usize;
            let start = PQgetvalue(self.0, row, column).cast::<u8>();
            Some(std::slice::from_raw_parts(start, length))
        }
    }

    pub fn text(&self, row: usize, column: usize) -> Option<&str> {
        std::str::from_utf8(self.bytes(row, column)?).ok()
    }

    /// The first column of all rows, bigints in binary form.
    pub fn bigints(&self) -> Vec<u64> {
        (0..self.len())
            .filter_map(|row| self.bytes(row, 0)?.try_into().ok().map(u64::from_be_bytes))
            .collect()
    }

    /// The first column of all rows, as text.
    pub fn lines(&self) -> Vec<&str> {
        (0..self.len())
            .filter_map(|row| self.text(row, 0))
            .collect()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        // SAFETY: the result is ours, and never used again; null is accepted.
        unsafe { PQclear(self.0) };
    }
}
