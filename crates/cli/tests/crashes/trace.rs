//! The file-system calls of a process, as strace writes them.

use std::collections::HashMap;

/// The calls that change files, make their content last, or move the position in a file.
pub const RECORDED: &str = "openat,creat,open,read,readv,write,writev,pwrite64,pwritev,pwritev2,\
    ftruncate,truncate,fallocate,lseek,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,\
    mkdirat,link,linkat,symlink,symlinkat,fsync,fdatasync,syncfs,sync_file_range,close,dup,dup2,\
    dup3,fcntl,copy_file_range,sendfile,splice,mmap,io_uring_enter";

/// One call that the system completed.
#[derive(Clone, Debug)]
pub struct Call {
    /// The thread, by its number in the order in which threads appear.
    pub thread: usize,
    pub name: String,
    /// The arguments without their strings, which are in `strings`.
    pub arguments: Vec<String>,
    /// The bytes of the quoted arguments.
    pub strings: Vec<Vec<u8>>,
    /// The result, or `None` if the call failed.
    pub result: Option<i64>,
}

impl Call {
    /// The argument at `index` as a number.
    pub fn number(&self, index: usize) -> i64 {
        let text = self.arguments[index].as_str();
        if text == "AT_FDCWD" {
            return -100;
        }
        text.parse()
            .unwrap_or_else(|_| panic!("{text} is no number in {self:?}"))
    }

    /// The quoted argument `index`, which is a path.
    pub fn path(&self, index: usize) -> String {
        String::from_utf8(self.strings[index].clone()).expect("a path in Unicode")
    }
}

/// Reads the log of `strace -f -xx`. A call that another thread interrupts in the log counts where
/// it ends.
pub fn calls(log: &str) -> Vec<Call> {
    let mut threads: Vec<&str> = Vec::new();
    let mut begun: HashMap<&str, &str> = HashMap::new();
    let mut calls = Vec::new();
    for line in log.lines() {
        let (id, rest) = line.split_once(char::is_whitespace).expect("a thread");
        let rest = rest.trim_start();
        let thread = threads.iter().position(|known| *known == id);
        let thread = thread.unwrap_or_else(|| {
            threads.push(id);
            threads.len() - 1
        });
        if let Some(beginning) = rest.strip_suffix(" <unfinished ...>") {
            begun.insert(id, beginning);
        } else if let Some((_, end)) = rest.split_once(" resumed>") {
            let whole = begun.remove(id).unwrap_or_default().to_owned() + end;
            calls.extend(call(thread, &whole));
        } else {
            calls.extend(call(thread, rest));
        }
    }
    calls
}

/// Reads one line, such as `write(3, "\x61", 1) = 1`; `None` for a signal or an exit.
fn call(thread: usize, line: &str) -> Option<Call> {
    let (name, rest) = line.split_once('(')?;
    if !name
        .chars()
        .all(|character| character.is_ascii_alphanumeric() || character == '_')
    {
        return None;
    }
    let (inside, result) = rest.rsplit_once(" = ")?;
    let inside = inside.trim_end().strip_suffix(')')?;
    let mut strings = Vec::new();
    let mut outside = String::new();
    for (index, part) in inside.split('"').enumerate() {
        if index % 2 == 0 {
            outside.push_str(part);
        } else {
            strings.push(bytes(part));
        }
    }
    let result = result.split_whitespace().next()?.parse().ok();
    Some(Call {
        thread,
        name: name.into(),
        arguments: outside.split(", ").map(String::from).collect(),
        strings,
        result: result.filter(|result| *result >= 0),
    })
}

/// The bytes of a string in which strace writes every byte as `\x61`.
fn bytes(text: &str) -> Vec<u8> {
    let digits = text.split("\\x").skip(1);
    digits
        .map(|digits| u8::from_str_radix(digits, 16).expect("two hexadecimal digits"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_another_thread_interrupts_counts_where_it_ends() {
        let log = "7 write(3, \"\\x61\\x2c\", 2 <unfinished ...>\n\
                   8 close(4)                          = 0\n\
                   7 <... write resumed>)              = 1\n\
                   8 openat(AT_FDCWD, \"\\x2f\", O_RDONLY) = -1 ENOENT (No such file or directory)\n\
                   8 +++ exited with 0 +++\n";
        let calls = calls(log);
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["close", "write", "openat"]);
        assert_eq!(calls[1].strings, [b"a,"]);
        assert_eq!(
            (calls[1].thread, calls[1].number(0), calls[1].result),
            (0, 3, Some(1))
        );
        assert_eq!((calls[2].number(0), calls[2].path(0)), (-100, "/".into()));
        assert_eq!(calls[2].result, None);
    }
}
