//! Reports: sections of text, tables and drawings.

use crate::{Graphic, Table};

/// One piece of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// Prose.
    Paragraph(String),
    /// A remark in small type, for example how something was measured.
    Note(String),
    /// A table.
    Table(Table),
    /// A drawing.
    Graphic(Box<Graphic>),
}

/// A heading and its blocks.
#[derive(Clone, Debug, Default)]
pub struct Section {
    pub(crate) title: String,
    pub(crate) blocks: Vec<Block>,
}

impl Section {
    /// An empty section.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), blocks: Vec::new() }
    }

    /// Adds any block.
    pub fn push(&mut self, block: Block) -> &mut Self {
        self.blocks.push(block);
        self
    }

    /// Adds prose.
    pub fn paragraph(&mut self, text: impl Into<String>) -> &mut Self {
        self.push(Block::Paragraph(text.into()))
    }

    /// Adds a remark in small type.
    pub fn note(&mut self, text: impl Into<String>) -> &mut Self {
        self.push(Block::Note(text.into()))
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) -> &mut Self {
        self.push(Block::Table(table))
    }

    /// Adds a [`crate::Chart`], [`crate::BarChart`] or [`crate::Stripes`].
    pub fn chart(&mut self, graphic: impl Into<Graphic>) -> &mut Self {
        self.push(Block::Graphic(Box::new(graphic.into())))
    }
}

/// A page of results.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub(crate) title: String,
    pub(crate) lead: Option<String>,
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) sections: Vec<Section>,
}

impl Report {
    /// An empty report.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// A summary under the title.
    pub fn lead(self, text: impl Into<String>) -> Self {
        Self { lead: Some(text.into()), ..self }
    }

    /// Adds a parameter of the results: trace, seed, budget.
    pub fn fact(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.facts.push((name.into(), value.into()));
        self
    }

    /// Adds a section that the closure fills.
    pub fn section(mut self, title: impl Into<String>, fill: impl FnOnce(&mut Section)) -> Self {
        let mut section = Section::new(title);
        fill(&mut section);
        self.push(section);
        self
    }

    /// Adds a section.
    pub fn push(&mut self, section: Section) {
        self.sections.push(section);
    }

    /// The whole report as one HTML file.
    pub fn to_html(&self) -> String {
        crate::page::page(self).into_string()
    }
}
