//! Plural forms of gettext, such as `nplurals=3; plural=n%10==1 && n%100!=11 ? 0 : …`.

/// Maximum length of an expression in bytes. The longest known has 260.
const MAX_BYTES: usize = 400;

/// Binary operators, the weakest first.
const OPERATORS: [&[&str]; 6] = [
    &["||"],
    &["&&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// The numbers of a plural form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Form {
    /// If true, it applies to 1.
    pub(super) has_one: bool,
    /// If true, it applies to other numbers.
    pub(super) has_others: bool,
}

/// Returns the value of a part of `rule`, such as `nplurals`.
fn field<'a>(rule: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = rule.split(';').filter_map(|field| field.split_once('='));
    let (_, value) = fields.find(|(key, _)| key.trim() == name)?;
    Some(value.trim())
}

/// Parses the header field `rule`; `None` if it is not a plural rule.
pub(super) fn forms(rule: &str) -> Option<Vec<Form>> {
    let count: usize = field(rule, "nplurals")?
        .parse()
        .ok()
        .filter(|count| (1..=10).contains(count))?;
    let expression = field(rule, "plural").filter(|expression| expression.len() <= MAX_BYTES)?;
    let mut forms = vec![Form::default(); count];
    for n in 0..=200 {
        let form = forms.get_mut(usize::try_from(value(expression, n)?).ok()?)?;
        form.has_one |= n == 1;
        form.has_others |= n != 1;
    }
    Some(forms)
}

/// Evaluates `expression` for the number `n`; `None` if it is not an expression.
fn value(expression: &str, n: u64) -> Option<u64> {
    let mut reader = Reader {
        rest: expression.trim_start(),
        n,
    };
    let value = reader.choice()?;
    reader.rest.is_empty().then_some(value)
}

struct Reader<'a> {
    rest: &'a str,
    n: u64,
}

impl Reader<'_> {
    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.map_or(self.rest, str::trim_start);
        rest.is_some()
    }

    fn choice(&mut self) -> Option<u64> {
        let condition = self.binary(0)?;
        if !self.takes("?") {
            return Some(condition);
        }
        let yes = self.choice()?;
        let no = self.takes(":").then(|| self.choice())??;
        Some(if condition != 0 { yes } else { no })
    }

    fn binary(&mut self, level: usize) -> Option<u64> {
        let Some(signs) = OPERATORS.get(level) else {
            return self.operand();
        };
        let mut left = self.binary(level + 1)?;
        while let Some(sign) = signs.iter().find(|sign| self.takes(sign)) {
            let right = self.binary(level + 1)?;
            left = match *sign {
                "||" => (left != 0 || right != 0).into(),
                "&&" => (left != 0 && right != 0).into(),
                "==" => (left == right).into(),
                "!=" => (left != right).into(),
                "<=" => (left <= right).into(),
                ">=" => (left >= right).into(),
                "<" => (left < right).into(),
                ">" => (left > right).into(),
                "+" => left.wrapping_add(right),
                "-" => left.wrapping_sub(right),
                "*" => left.wrapping_mul(right),
                "/" => left.checked_div(right)?,
                _ => left.checked_rem(right)?,
            };
        }
        Some(left)
    }

    fn operand(&mut self) -> Option<u64> {
        if self.takes("!") {
            return self.operand().map(|value| (value == 0).into());
        }
        if self.takes("(") {
            let value = self.choice()?;
            return self.takes(")").then_some(value);
        }
        if self.takes("n") {
            return Some(self.n);
        }
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        digits.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_languages_are_those_of_gettext() {
        // From "Plural forms" in the GNU gettext manual; the values are from ngettext.
        let russian =
            "n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2";
        for (n, form) in [
            (1, 0),
            (21, 0),
            (11, 2),
            (2, 1),
            (14, 2),
            (104, 1),
            (0, 2),
            (5, 2),
        ] {
            assert_eq!(value(russian, n), Some(form), "{n}");
        }
        assert_eq!(value("(n != 1)", 1), Some(0));
        assert_eq!(value("n>1", 0), Some(0));
        assert_eq!(value("n==1 ? 0 : n==2 ? 1 : !(n<7)+2", 7), Some(3));
        for broken in ["", "n ==", "(n", "n n", "n ? 1", "x", "1/0"] {
            assert_eq!(value(broken, 1), None, "{broken}");
        }
    }

    #[test]
    fn a_form_knows_its_numbers() {
        let [one, others] = [(true, false), (false, true)].map(|(has_one, has_others)| Form {
            has_one,
            has_others,
        });
        assert_eq!(
            forms("nplurals=2; plural=(n != 1);"),
            Some(vec![one, others])
        );
        let both = Form {
            has_one: true,
            has_others: true,
        };
        assert_eq!(forms("nplurals=1; plural=0;"), Some(vec![both]));
        assert_eq!(forms("nplurals=2; plural=n > 1;"), Some(vec![both, others]));
        assert_eq!(forms("nplurals=INTEGER; plural=EXPRESSION;"), None);
        assert_eq!(forms("nplurals=1; plural=n"), None);
        assert_eq!(
            forms(&format!("nplurals=1; plural={}0", "(".repeat(9999))),
            None
        );
    }
}
