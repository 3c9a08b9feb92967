//! Tables as Arrow record batches that share the engine's vectors.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray as _;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int16Type;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, DictionaryArray, PrimitiveArray, RecordBatch, RecordBatchIterator,
    StringArray,
};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyString};
use record::{Column, Data, SCHEMA_VERSION, Tables};

/// A table of a run.
#[pyclass(frozen, module = "ackclock._engine")]
pub(crate) struct Table(pub(crate) RecordBatch);

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.0.schema()).map_err(|error| arrow_failure(&error))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        // The interface allows a producer that cannot cast to ignore the wish.
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}

/// The tables, one below the other. They have the same columns, none of which is coded by a dictionary.
#[pyfunction]
pub(crate) fn joined(tables: Vec<PyRef<'_, Table>>) -> PyResult<Table> {
    let batches: Vec<&RecordBatch> = tables.iter().map(|table| &table.0).collect();
    join(&batches).map(Table).map_err(|error| arrow_failure(&error))
}

fn join(batches: &[&RecordBatch]) -> Result<RecordBatch, ArrowError> {
    let Some(first) = batches.first() else {
        return Err(ArrowError::InvalidArgumentError("there is no table to join".to_owned()));
    };
    let arrays = (0..first.num_columns()).map(|index| {
        let columns: Vec<&ArrayRef> = batches.iter().map(|batch| batch.column(index)).collect();
        join_columns(&columns, first.column(index).data_type())
    });
    RecordBatch::try_new(first.schema(), arrays.collect::<Result<_, _>>()?)
}

fn join_columns(columns: &[&ArrayRef], kind: &DataType) -> Result<ArrayRef, ArrowError> {
    fn primitive<T: ArrowPrimitiveType>(columns: &[&ArrayRef]) -> ArrayRef {
        Arc::new(columns.iter().flat_map(|column| column.as_primitive::<T>()).collect::<PrimitiveArray<T>>())
    }
    Ok(match kind {
        DataType::UInt32 => primitive::<UInt32Type>(columns),
        DataType::UInt64 => primitive::<UInt64Type>(columns),
        DataType::Float64 => primitive::<Float64Type>(columns),
        DataType::Boolean => Arc::new(columns.iter().flat_map(|column| column.as_boolean()).collect::<BooleanArray>()),
        DataType::Utf8 => {
            Arc::new(columns.iter().flat_map(|column| column.as_string::<i32>()).collect::<StringArray>())
        }
        other => return Err(ArrowError::InvalidArgumentError(format!("columns of {other} are not joined"))),
    })
}

/// The schema of each table, in the order of [`Tables::NAMES`]: its names and units take longer to write than the
/// columns of a short run.
static SCHEMAS: LazyLock<[SchemaRef; Tables::NAMES.len()]> =
    LazyLock::new(|| Tables::default().into_tables().map(|table| schema(&table)));

/// The schema of `table`: units and the version of the schema are metadata.
fn schema(table: &record::Table) -> SchemaRef {
    let fields: Vec<Field> = table.columns.iter().map(field).collect();
    let metadata = HashMap::from([
        ("ackclock.table".to_owned(), table.name.to_owned()),
        ("ackclock.schema_version".to_owned(), SCHEMA_VERSION.to_string()),
    ]);
    Arc::new(Schema::new(fields).with_metadata(metadata))
}

fn field(column: &Column) -> Field {
    let nullable = matches!(column.data, Data::NullableU32(_) | Data::NullableU64(_) | Data::NullableF64(_));
    let kind = match column.data {
        Data::U32(_) | Data::NullableU32(_) => DataType::UInt32,
        Data::U64(_) | Data::NullableU64(_) => DataType::UInt64,
        Data::F64(_) | Data::NullableF64(_) => DataType::Float64,
        Data::Bool(_) => DataType::Boolean,
        Data::Str(_) => DataType::Utf8,
        Data::Dict { .. } => DataType::Dictionary(Box::new(DataType::Int16), Box::new(DataType::Utf8)),
    };
    let field = Field::new(column.name, kind, nullable);
    match column.unit {
        Some(unit) => field.with_metadata(HashMap::from([("unit".to_owned(), unit.to_owned())])),
        None => field,
    }
}

/// The columns of `table` as Arrow arrays.
pub(crate) fn record_batch(table: record::Table) -> Result<RecordBatch, ArrowError> {
    let place = Tables::NAMES.iter().position(|name| *name == table.name);
    let schema = place.map_or_else(|| schema(&table), |place| Arc::clone(&SCHEMAS[place]));
    RecordBatch::try_new(schema, table.columns.into_iter().map(|column| array(column.data)).collect())
}

fn array(data: Data) -> ArrayRef {
    match data {
        Data::U32(values) => primitive::<UInt32Type>(values, |_| true),
        Data::U64(values) => primitive::<UInt64Type>(values, |_| true),
        Data::F64(values) => primitive::<Float64Type>(values, |_| true),
        Data::NullableU32(values) => primitive::<UInt32Type>(values, |value| value != u32::MAX),
        Data::NullableU64(values) => primitive::<UInt64Type>(values, |value| value != u64::MAX),
        Data::NullableF64(values) => primitive::<Float64Type>(values, f64::is_finite),
        Data::Bool(values) => Arc::new(BooleanArray::from(values)),
        Data::Str(values) => Arc::new(StringArray::from(values)),
        Data::Dict { codes, names } => Arc::new(dictionary(codes, names)),
    }
}

/// The vector as an array without copying it, null where `valid` says no.
fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, valid: fn(T::Native) -> bool) -> ArrayRef {
    let all = values.iter().all(|&value| valid(value));
    let nulls = (!all).then(|| values.iter().map(|&value| valid(value)).collect::<NullBuffer>());
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls))
}

/// Signed keys, because pandas takes no others. There are never so many names that the sign would show.
fn dictionary(codes: Vec<u16>, names: Vec<String>) -> DictionaryArray<Int16Type> {
    let length = codes.len();
    let keys = ScalarBuffer::<i16>::new(Buffer::from_vec(codes), 0, length);
    DictionaryArray::new(PrimitiveArray::new(keys, None), Arc::new(StringArray::from(names)))
}

/// The real numbers of a column of `batch`, NaN for null; none if there is no such column.
pub(crate) fn doubles(batch: &RecordBatch, name: &str) -> Vec<f64> {
    let column = batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<Float64Type>());
    column.into_iter().flatten().map(|value| value.unwrap_or(f64::NAN)).collect()
}

/// The rows of `batch`, each with its values by the names of their columns; null is None.
pub(crate) fn rows<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let rows: Vec<_> = (0..batch.num_rows()).map(|_| PyDict::new(py)).collect();
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        fill(&rows, &PyString::intern(py, field.name()), column)?;
    }
    Ok(rows)
}

/// Gives each of `rows` its value of a column that [`array`] makes.
fn fill(rows: &[Bound<'_, PyDict>], name: &Bound<'_, PyString>, column: &ArrayRef) -> PyResult<()> {
    match column.data_type() {
        DataType::UInt32 => each(rows, name, column.as_primitive::<UInt32Type>()),
        DataType::UInt64 => each(rows, name, column.as_primitive::<UInt64Type>()),
        DataType::Float64 => each(rows, name, column.as_primitive::<Float64Type>()),
        DataType::Boolean => each(rows, name, column.as_boolean()),
        DataType::Utf8 => each(rows, name, column.as_string::<i32>()),
        DataType::Dictionary(..) => match column.as_dictionary::<Int16Type>().downcast_dict::<StringArray>() {
            Some(texts) => each(rows, name, texts),
            None => Err(arrow_failure(&ArrowError::SchemaError("names must be text".to_owned()))),
        },
        other => Err(arrow_failure(&ArrowError::SchemaError(format!("no table has a column of {other}")))),
    }
}

fn each<'py, T: IntoPyObject<'py>>(
    rows: &[Bound<'py, PyDict>],
    name: &Bound<'py, PyString>,
    column: impl IntoIterator<Item = Option<T>>,
) -> PyResult<()> {
    rows.iter().zip(column).try_for_each(|(row, value)| row.set_item(name, value))
}

pub(crate) fn arrow_failure(error: &ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
